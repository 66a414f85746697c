#include <algorithm>

#include "engine/chat/language/parser.h"

namespace lockstep::engine::language {

Body Parser::parse() { return body({}); }

Body Parser::body(std::initializer_list<const char*> ends) {
  Nested nested(*this, blocks_, max_blocks);
  Body statements;
  while (now().kind != TokenKind::end) {
    const int line = now().line;
    if (now().kind == TokenKind::data) {
      auto data = node<Data>(line);
      data->text = std::make_shared<const Text>(now().text, false);
      statements.push_back(std::move(data));
      ++at_;
    } else if (now().kind == TokenKind::variable_begin) {
      ++at_;
      auto output = node<Output>(line);
      output->expression = tuple(true, false);
      need(TokenKind::variable_end);
      statements.push_back(std::move(output));
    } else {
      need(TokenKind::block_begin);
      if (std::any_of(ends.begin(), ends.end(), [&](const char* end) { return at_name(end); }))
        return statements;
      if (at_name("print"))
        print_statement(line, statements);
      else
        statements.push_back(statement());
      need(TokenKind::block_end);
    }
  }
  if (ends.size() > 0)
    fail("unexpected end of the template, expected {% " + std::string(*(ends.end() - 1)) + " %}");
  return statements;
}

Body Parser::block(std::initializer_list<const char*> ends) {
  skip_op(":");
  need(TokenKind::block_end);
  return body(ends);
}

void Parser::end_block(const char* end, Body& into) {
  into = block({end});
  need_name(end);
}

std::unique_ptr<Statement> Parser::statement() {
  const int line = now().line;
  if (now().kind != TokenKind::name) fail("expected the name of a tag, got " + describe());
  const std::string tag = need_identifier();
  if (tag == "for") return parse_for(line);
  if (tag == "if") return parse_if(line);
  if (tag == "set") return parse_set(line);
  if (tag == "macro") return parse_macro(line);
  if (tag == "call") return parse_call(line);
  if (tag == "filter") return parse_filter_block(line);
  if (tag == "with") return parse_with(line);
  if (tag == "generation") return parse_generation(line);
  if (tag == "break" || tag == "continue") {
    if (loops_ == 0) throw error_at(line, "{% " + tag + " %} stands outside of a loop");
    auto jump = node<Jump>(line);
    jump->flow = tag == "break" ? Flow::break_loop : Flow::next_turn;
    return jump;
  }
  static constexpr const char* refused[] = {"include", "import", "from", "extends", "block", "autoescape"};
  if (std::any_of(std::begin(refused), std::end(refused), [&](const char* name) { return tag == name; }))
    throw error_at(line, "the tag '" + tag + "' is not supported in a chat template");
  throw error_at(line, "unknown tag '" + tag + "'");
}

void Parser::print_statement(int line, Body& into) {
  need_name("print");
  bool first = true;
  while (now().kind != TokenKind::block_end) {
    if (!std::exchange(first, false)) need_op(",");
    auto output = node<Output>(line);
    output->expression = expression();
    into.push_back(std::move(output));
  }
}

std::unique_ptr<Statement> Parser::parse_for(int line) {
  auto made = node<For>(line);
  ++any_loops_;
  made->target = target(false, true);
  made->test_target = made->target;
  need_name("in");
  made->iterated = tuple(false, false);
  if (skip_name("if")) made->test = expression();
  made->recursive = skip_name("recursive");
  ++loops_;
  made->body = block({"else", "endfor"});
  --loops_;
  if (skip_name("else"))
    end_block("endfor", made->otherwise);
  else
    need_name("endfor");
  --any_loops_;
  return made;
}

std::unique_ptr<Statement> Parser::parse_if(int line) {
  auto made = node<If>(line);
  made->condition = tuple(false, false);
  made->body = block({"elif", "else", "endif"});
  while (skip_name("elif")) {
    auto other = node<If>(line);
    other->condition = tuple(false, false);
    other->body = block({"elif", "else", "endif"});
    made->others.push_back(std::move(other));
  }
  if (skip_name("else"))
    end_block("endif", made->otherwise);
  else
    need_name("endif");
  return made;
}

std::unique_ptr<Statement> Parser::parse_set(int line) {
  Target to = target(true, true);
  if (skip_op("=")) {
    auto made = node<Set>(line);
    made->target = std::move(to);
    made->expression = tuple(true, false);
    return made;
  }
  auto made = node<SetBlock>(line);
  made->target = std::move(to);
  if (skip_op("|")) made->filter = filter_chain();
  end_block("endset", made->body);
  return made;
}

void Parser::signature(MacroBody& macro) {
  need_op("(");
  while (!at_op(")")) {
    if (!macro.parameters.empty()) need_op(",");
    const std::string name = need_identifier();
    if (skip_op("="))
      macro.defaults.push_back(expression());
    else if (!macro.defaults.empty())
      fail("a parameter without default follows one with default");
    macro.parameters.push_back(name);
  }
  need_op(")");
}

void Parser::macro_content(MacroBody& macro, const char* end) {
  const int loops = std::exchange(loops_, 0);  // a macro cannot leave the loop around it
  end_block(end, macro.body);
  loops_ = loops;
}

std::unique_ptr<Statement> Parser::parse_macro(int line) {
  auto made = node<Macro>(line);
  made->macro.line = line;
  made->macro.name = need_identifier();
  signature(made->macro);
  macro_content(made->macro, "endmacro");
  return made;
}

std::unique_ptr<Statement> Parser::parse_call(int line) {
  auto made = node<CallBlock>(line);
  made->block.line = line;
  if (at_op("(")) signature(made->block);
  ExpressionPtr called = expression();
  auto* call = dynamic_cast<Call*>(called.get());
  if (!call) fail("expected a call in {% call %}");
  called.release();
  made->call.reset(call);
  macro_content(made->block, "endcall");
  return made;
}

std::unique_ptr<Statement> Parser::parse_generation(int line) {
  auto made = node<CallBlock>(line);
  made->block.line = line;
  macro_content(made->block, "endgeneration");
  return made;
}

std::unique_ptr<Statement> Parser::parse_filter_block(int line) {
  auto made = node<FilterBlock>(line);
  made->filter = filter_chain();
  end_block("endfilter", made->body);
  return made;
}

std::unique_ptr<Statement> Parser::parse_with(int line) {
  auto made = node<With>(line);
  while (now().kind != TokenKind::block_end && !at_op(":")) {
    if (!made->values.empty()) need_op(",");
    Target to = target(false, true);
    need_op("=");
    made->values.emplace_back(std::move(to), expression());
  }
  end_block("endwith", made->body);
  return made;
}

Target Parser::single_target() {
  Nested nested(*this, brackets_, max_brackets);
  if (skip_op("(")) {
    Target inner = target(false, true);
    need_op(")");
    return inner;
  }
  Target made;
  made.line = now().line;
  made.name = need_identifier();
  static constexpr const char* constants[] = {"true", "True", "false", "False", "none", "None"};
  if (std::any_of(std::begin(constants), std::end(constants), [&](const char* c) { return made.name == c; }))
    throw error_at(made.line, "can't assign to '" + made.name + "'");
  if (made.name == "loop" && any_loops_ > 0)
    throw error_at(made.line, "can't assign to the special variable loop inside of a loop");
  return made;
}

// A name, a tuple of targets, or (in {% set %}) the attribute of a namespace.
Target Parser::target(bool with_attribute, bool in_tuple) {
  if (with_attribute && now().kind == TokenKind::name && after(1).kind == TokenKind::op &&
      after(1).text == ".") {
    Target made;
    made.line = now().line;
    made.name = need_identifier();
    ++at_;
    made.attribute = need_identifier();
    return made;
  }
  Target first = single_target();
  if (!in_tuple || !at_op(",")) return first;
  Target made;
  made.line = first.line;
  made.tuple = true;
  made.parts.push_back(std::move(first));
  while (skip_op(",")) {
    if (at_name("in") || at_op("=") || at_op(")") || now().kind == TokenKind::block_end) break;
    made.parts.push_back(single_target());
  }
  return made;
}

}  // namespace lockstep::engine::language
