// Parses the language of Jinja2 3.1 with the extensions loopcontrols and {% generation %}.
//
// Not part of it: include, import, extends, block, autoescape, do, trans (refused by name). Limits: 100
// blocks and 200 brackets or prefix operators inside each other, chains of 500 operators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/language/lexer.h"
#include "engine/chat/language/statements.h"

namespace lockstep::engine::language {

constexpr int max_blocks = 100;
constexpr int max_brackets = 200;
constexpr int max_tree_depth = 500;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)) {}
  Body parse();

 private:
  // Statements.
  Body body(std::initializer_list<const char*> ends);   // stops at a tag named so, on its name
  Body block(std::initializer_list<const char*> ends);  // the same from the end of the opening tag
  void end_block(const char* end, Body& into);          // body up to and with the end tag
  std::unique_ptr<Statement> statement();
  std::unique_ptr<Statement> parse_for(int line);
  std::unique_ptr<Statement> parse_if(int line);
  std::unique_ptr<Statement> parse_set(int line);
  std::unique_ptr<Statement> parse_macro(int line);
  std::unique_ptr<Statement> parse_call(int line);
  std::unique_ptr<Statement> parse_filter_block(int line);
  std::unique_ptr<Statement> parse_with(int line);
  std::unique_ptr<Statement> parse_generation(int line);
  void print_statement(int line, Body& into);
  void signature(MacroBody& macro);
  void macro_content(MacroBody& macro, const char* end);
  Target target(bool with_attribute, bool in_tuple);
  Target single_target();

  // Expressions.
  ExpressionPtr tuple(bool conditional, bool in_parentheses);
  ExpressionPtr expression(bool conditional = true);
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filter);
  ExpressionPtr primary();
  ExpressionPtr list();
  ExpressionPtr mapping();
  ExpressionPtr postfix(ExpressionPtr of);
  ExpressionPtr subscript(ExpressionPtr of);
  ExpressionPtr filters(ExpressionPtr of);
  std::unique_ptr<Filter> filter(ExpressionPtr of);  // at the filter's name
  std::unique_ptr<Filter> filter_chain();            // of a block: name | name ...
  ExpressionPtr test(ExpressionPtr of);
  ExpressionPtr call(ExpressionPtr callee);
  CallArguments arguments();

  // Tokens.
  const Token& now() const { return tokens_[at_]; }
  const Token& after(size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  bool at_name(const char* name) const { return now().kind == TokenKind::name && now().text == name; }
  bool at_op(const char* op) const { return now().kind == TokenKind::op && now().text == op; }
  bool skip_name(const char* name);
  bool skip_op(const char* op);
  void need_op(const char* op);
  void need_name(const char* name);
  void need(TokenKind kind);
  std::string need_identifier();
  [[noreturn]] void fail(const std::string& message) const { throw error_at(now().line, message); }
  std::string describe() const;  // the current token

  template <class Node>
  std::unique_ptr<Node> node(int line) const {
    auto made = std::make_unique<Node>();
    made->line = line;
    return made;
  }
  template <class Node>
  ExpressionPtr finish(std::unique_ptr<Node> made) const;  // sets the depth

  struct Nested {
    Nested(Parser& parser, int& count, int limit) : count_(count) {
      if (++count_ > limit) parser.fail("blocks or brackets are nested too deep");
    }
    ~Nested() { --count_; }
    int& count_;
  };

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int blocks_ = 0, brackets_ = 0;
  int loops_ = 0;      // that break and continue can leave
  int any_loops_ = 0;  // around, over macros too
};

template <class Node>
ExpressionPtr Parser::finish(std::unique_ptr<Node> made) const {
  int depth = 0;
  made->children([&](Expression& child) { depth = std::max(depth, child.depth); });
  made->depth = depth + 1;
  if (made->depth > max_tree_depth) fail("an expression is nested too deep");
  return made;
}

}  // namespace lockstep::engine::language
