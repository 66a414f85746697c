#include <algorithm>
#include <cstdlib>

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/parser.h"

namespace lockstep::engine::language {

bool Parser::skip_name(const char* name) {
  if (!at_name(name)) return false;
  ++at_;
  return true;
}

bool Parser::skip_op(const char* op) {
  if (!at_op(op)) return false;
  ++at_;
  return true;
}

void Parser::need_op(const char* op) {
  if (!skip_op(op)) fail("expected '" + std::string(op) + "', got " + describe());
}

void Parser::need_name(const char* name) {
  if (!skip_name(name)) fail("expected '" + std::string(name) + "', got " + describe());
}

void Parser::need(TokenKind kind) {
  if (now().kind != kind) fail("unexpected " + describe());
  ++at_;
}

std::string Parser::need_identifier() {
  if (now().kind != TokenKind::name) fail("expected a name, got " + describe());
  return tokens_[at_++].text;
}

std::string Parser::describe() const {
  switch (now().kind) {
    case TokenKind::data: return "text";
    case TokenKind::variable_begin: return "'{{'";
    case TokenKind::variable_end: return "'}}'";
    case TokenKind::block_begin: return "'{%'";
    case TokenKind::block_end: return "'%}'";
    case TokenKind::end: return "the template's end";
    case TokenKind::string: return "a string";
    default: return "'" + now().text + "'";
  }
}

ExpressionPtr Parser::tuple(bool conditional, bool in_parentheses) {
  const int line = now().line;
  auto listing = node<Listing>(line);
  listing->kind = Kind::tuple;
  bool is_tuple = false;
  while (true) {
    if (!listing->items.empty()) need_op(",");
    if (now().kind == TokenKind::variable_end || now().kind == TokenKind::block_end || at_op(")") ||
        (!conditional && at_name("recursive")))
      break;
    listing->items.push_back(expression(conditional));
    if (!at_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!listing->items.empty()) return std::move(listing->items[0]);
    if (!in_parentheses) fail("expected an expression, got " + describe());
  }
  return finish(std::move(listing));
}

ExpressionPtr Parser::expression(bool conditional) {
  Nested nested(*this, brackets_, max_brackets);
  if (!conditional) return parse_or();
  ExpressionPtr left = parse_or();
  while (at_name("if")) {
    auto made = node<Conditional>(now().line);
    ++at_;
    made->then = std::move(left);
    made->condition = parse_or();
    if (skip_name("else")) made->otherwise = expression();
    left = finish(std::move(made));
  }
  return left;
}

ExpressionPtr Parser::parse_or() {
  ExpressionPtr left = parse_and();
  while (at_name("or")) {
    auto made = node<Binary>(now().line);
    ++at_;
    made->op = Operator::logical_or;
    made->left = std::move(left);
    made->right = parse_and();
    left = finish(std::move(made));
  }
  return left;
}

ExpressionPtr Parser::parse_and() {
  ExpressionPtr left = parse_not();
  while (at_name("and")) {
    auto made = node<Binary>(now().line);
    ++at_;
    made->op = Operator::logical_and;
    made->left = std::move(left);
    made->right = parse_not();
    left = finish(std::move(made));
  }
  return left;
}

ExpressionPtr Parser::parse_not() {
  if (!at_name("not")) return comparison();
  Nested nested(*this, brackets_, max_brackets);
  auto made = node<Unary>(now().line);
  ++at_;
  made->sign = Unary::Sign::logical_not;
  made->operand = parse_not();
  return finish(std::move(made));
}

ExpressionPtr Parser::comparison() {
  auto made = node<Comparison>(now().line);
  made->first = sum();
  while (true) {
    std::string op;
    if (now().kind == TokenKind::op) {
      static constexpr const char* operators[] = {"==", "!=", "<", "<=", ">", ">="};
      for (const char* known : operators)
        if (at_op(known)) op = known;
      if (op.empty()) break;
      ++at_;
    } else if (skip_name("in")) {
      op = "in";
    } else if (at_name("not") && after(1).kind == TokenKind::name && after(1).text == "in") {
      at_ += 2;
      op = "not in";
    } else {
      break;
    }
    made->rest.emplace_back(op, sum());
  }
  if (made->rest.empty()) return std::move(made->first);
  return finish(std::move(made));
}

ExpressionPtr Parser::sum() {
  ExpressionPtr left = concatenation();
  while (at_op("+") || at_op("-")) {
    auto made = node<Binary>(now().line);
    made->op = now().text == "+" ? Operator::add : Operator::subtract;
    ++at_;
    made->left = std::move(left);
    made->right = concatenation();
    left = finish(std::move(made));
  }
  return left;
}

ExpressionPtr Parser::concatenation() {
  auto made = node<Concatenation>(now().line);
  made->parts.push_back(product());
  while (skip_op("~")) made->parts.push_back(product());
  if (made->parts.size() == 1) return std::move(made->parts[0]);
  return finish(std::move(made));
}

ExpressionPtr Parser::product() {
  ExpressionPtr left = power();
  while (at_op("*") || at_op("/") || at_op("//") || at_op("%")) {
    auto made = node<Binary>(now().line);
    made->op = at_op("*")    ? Operator::multiply
               : at_op("/")  ? Operator::divide
               : at_op("//") ? Operator::floor_divide
                             : Operator::modulo;
    ++at_;
    made->left = std::move(left);
    made->right = power();
    left = finish(std::move(made));
  }
  return left;
}

ExpressionPtr Parser::power() {
  ExpressionPtr left = unary(true);
  while (at_op("**")) {
    auto made = node<Binary>(now().line);
    ++at_;
    made->op = Operator::power;
    made->left = std::move(left);
    made->right = unary(true);
    left = finish(std::move(made));
  }
  return left;
}

ExpressionPtr Parser::unary(bool with_filter) {
  ExpressionPtr made;
  if (at_op("-") || at_op("+")) {
    Nested nested(*this, brackets_, max_brackets);
    auto sign = node<Unary>(now().line);
    sign->sign = at_op("-") ? Unary::Sign::minus : Unary::Sign::plus;
    ++at_;
    sign->operand = unary(false);
    made = finish(std::move(sign));
  } else {
    made = primary();
  }
  made = postfix(std::move(made));
  return with_filter ? filters(std::move(made)) : std::move(made);
}

ExpressionPtr Parser::primary() {
  const Token& token = now();
  if (token.kind == TokenKind::op) {
    if (at_op("[")) return list();
    if (at_op("{")) return mapping();
    if (!at_op("(")) fail("unexpected " + describe());
    ++at_;
    ExpressionPtr inner = tuple(true, true);
    need_op(")");
    return inner;
  }
  auto constant = node<Constant>(token.line);
  if (token.kind == TokenKind::name) {
    const std::string& text = token.text;
    if (text == "true" || text == "True")
      constant->constant = Value::boolean(true);
    else if (text == "false" || text == "False")
      constant->constant = Value::boolean(false);
    else if (text == "none" || text == "None")
      constant->constant = Value::none();
    else {
      auto name = node<Name>(token.line);
      name->name = text;
      ++at_;
      return name;
    }
    ++at_;
  } else if (token.kind == TokenKind::string) {
    std::string text;
    while (now().kind == TokenKind::string) text += tokens_[at_++].text;
    constant->constant = Value::literal(text);
  } else if (token.kind == TokenKind::integer) {
    try {
      constant->constant = Value::decimal(token.text);
    } catch (const Fault& fault) {
      fail(fault.what());
    }
    ++at_;
  } else if (token.kind == TokenKind::floating) {
    constant->constant = Value::floating(std::strtod(token.text.c_str(), nullptr));
    ++at_;
  } else {
    fail("unexpected " + describe());
  }
  return constant;
}

ExpressionPtr Parser::list() {
  auto made = node<Listing>(now().line);
  need_op("[");
  while (!at_op("]")) {
    if (!made->items.empty()) need_op(",");
    if (at_op("]")) break;
    made->items.push_back(expression());
  }
  need_op("]");
  return finish(std::move(made));
}

ExpressionPtr Parser::mapping() {
  auto made = node<Mapping>(now().line);
  need_op("{");
  while (!at_op("}")) {
    if (!made->entries.empty()) need_op(",");
    if (at_op("}")) break;
    ExpressionPtr key = expression();
    need_op(":");
    made->entries.emplace_back(std::move(key), expression());
  }
  need_op("}");
  return finish(std::move(made));
}

ExpressionPtr Parser::postfix(ExpressionPtr of) {
  while (true) {
    if (at_op(".") || at_op("["))
      of = subscript(std::move(of));
    else if (at_op("("))
      of = call(std::move(of));
    else
      return of;
  }
}

ExpressionPtr Parser::subscript(ExpressionPtr of) {
  const int line = now().line;
  if (skip_op(".")) {
    if (now().kind == TokenKind::integer) {
      auto item = node<Item>(line);
      item->of = std::move(of);
      item->index = primary();
      return finish(std::move(item));
    }
    auto attribute = node<Attribute>(line);
    attribute->of = std::move(of);
    attribute->name = need_identifier();
    return finish(std::move(attribute));
  }
  need_op("[");
  auto keys = node<Listing>(line);
  keys->kind = Kind::tuple;
  while (!at_op("]")) {
    if (!keys->items.empty()) need_op(",");
    ExpressionPtr first;
    if (!at_op(":")) first = expression();
    if (!skip_op(":")) {
      keys->items.push_back(std::move(first));
      continue;
    }
    auto slice = node<Slice>(line);
    slice->from = std::move(first);
    if (!at_op(":") && !at_op("]")) slice->to = expression();
    if (skip_op(":") && !at_op("]")) slice->step = expression();
    need_op("]");
    if (!keys->items.empty()) fail("a slice must stand alone in its brackets");
    slice->of = std::move(of);
    return finish(std::move(slice));
  }
  need_op("]");
  if (keys->items.empty()) fail("expected an index, got ']'");
  auto item = node<Item>(line);
  item->of = std::move(of);
  if (keys->items.size() == 1)
    item->index = std::move(keys->items[0]);
  else
    item->index = finish(std::move(keys));
  return finish(std::move(item));
}

ExpressionPtr Parser::filters(ExpressionPtr of) {
  while (true) {
    if (skip_op("|"))
      of = finish(filter(std::move(of)));
    else if (at_name("is"))
      of = test(std::move(of));
    else if (at_op("("))
      of = call(std::move(of));
    else
      return of;
  }
}

std::unique_ptr<Filter> Parser::filter(ExpressionPtr of) {
  auto made = node<Filter>(now().line);
  std::string name = need_identifier();
  while (skip_op(".")) name += "." + need_identifier();
  made->function = find_filter(name);
  if (!made->function) throw error_at(made->line, "there is no filter named '" + name + "'");
  made->operand = std::move(of);
  if (at_op("(")) made->arguments = arguments();
  return made;
}

std::unique_ptr<Filter> Parser::filter_chain() {
  std::unique_ptr<Filter> chain = filter(nullptr);
  int length = 1;
  while (skip_op("|")) {
    if (++length > max_tree_depth) fail("an expression is nested too deep");
    chain = filter(std::move(chain));
  }
  return chain;
}

ExpressionPtr Parser::test(ExpressionPtr of) {
  auto made = node<Test>(now().line);
  need_name("is");
  const bool negated = skip_name("not");
  std::string name = need_identifier();
  while (skip_op(".")) name += "." + need_identifier();
  made->function = find_test(name);
  if (!made->function) throw error_at(made->line, "there is no test named '" + name + "'");
  made->operand = std::move(of);
  const TokenKind kind = now().kind;
  if (at_op("(")) {
    made->arguments = arguments();
  } else if ((kind == TokenKind::name && !at_name("else") && !at_name("or") && !at_name("and")) ||
             kind == TokenKind::string || kind == TokenKind::integer || kind == TokenKind::floating ||
             at_op("[") || at_op("{")) {
    if (at_name("is")) fail("tests cannot be chained with is");
    made->arguments.positional.push_back(postfix(primary()));
  }
  const int line = made->line;
  ExpressionPtr result = finish(std::move(made));
  if (!negated) return result;
  auto inverse = node<Unary>(line);
  inverse->sign = Unary::Sign::logical_not;
  inverse->operand = std::move(result);
  return finish(std::move(inverse));
}

ExpressionPtr Parser::call(ExpressionPtr callee) {
  auto made = node<Call>(now().line);
  made->callee = std::move(callee);
  made->arguments = arguments();
  return finish(std::move(made));
}

CallArguments Parser::arguments() {
  CallArguments made;
  const auto ensure = [&](bool fine) {
    if (!fine) fail("invalid arguments of a call");
  };
  need_op("(");
  bool first = true;
  while (!at_op(")")) {
    if (!std::exchange(first, false)) {
      need_op(",");
      if (at_op(")")) break;
    }
    if (skip_op("*")) {
      ensure(!made.spread && !made.spread_named);
      made.spread = expression();
    } else if (skip_op("**")) {
      ensure(!made.spread_named);
      made.spread_named = expression();
    } else if (now().kind == TokenKind::name && after(1).kind == TokenKind::op && after(1).text == "=") {
      ensure(!made.spread_named);
      const std::string name = need_identifier();
      ++at_;
      made.named.emplace_back(name, expression());
    } else {
      ensure(!made.spread && !made.spread_named && made.named.empty());
      made.positional.push_back(expression());
    }
  }
  need_op(")");
  return made;
}

}  // namespace lockstep::engine::language
