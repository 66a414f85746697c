// The tree of a parsed template. It is not changed once it is bound, so threads may share it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/chat/language/scopes.h"
#include "engine/chat/language/value.h"

namespace lockstep::engine::language {

class Render;
struct Name;
struct Filter;
struct Test;

// Called for every name that is read (false) or assigned (true), in the order of the source.
using NameWalker = std::function<void(const std::string& name, bool assigned)>;

struct Expression {
  int line = 0;
  int depth = 1;  // of the tree below

  virtual ~Expression() = default;
  // Children in the order of evaluation.
  virtual void children(const std::function<void(Expression&)>&) {}
  Value value(Render&, Scope&) const;  // evaluate() within the limits
  void declare(Symbols& symbols);
  void bind(Symbols& symbols);
  void walk(const NameWalker& walker);

 protected:
  virtual Value evaluate(Render&, Scope&) const = 0;
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct Constant : Expression {
  Value constant;
  Value evaluate(Render&, Scope&) const override { return constant; }
};

struct Name : Expression {
  std::string name;
  Reference reference;
  Value evaluate(Render&, Scope&) const override;
};

struct Listing : Expression {  // [a, b] and (a, b)
  Kind kind = Kind::list;
  std::vector<ExpressionPtr> items;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Mapping : Expression {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

enum class Operator : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  logical_and,
  logical_or
};
struct Binary : Expression {
  Operator op = Operator::add;
  ExpressionPtr left, right;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Unary : Expression {
  enum class Sign : uint8_t { plus, minus, logical_not } sign = Sign::plus;
  ExpressionPtr operand;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Concatenation : Expression {  // a ~ b ~ c
  std::vector<ExpressionPtr> parts;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Comparison : Expression {  // a < b <= c, in, not in
  ExpressionPtr first;
  std::vector<std::pair<std::string, ExpressionPtr>> rest;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Conditional : Expression {  // then if condition else otherwise
  ExpressionPtr condition, then, otherwise;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Attribute : Expression {  // a.name
  ExpressionPtr of;
  std::string name;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Item : Expression {  // a[b]
  ExpressionPtr of, index;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

struct Slice : Expression {  // a[b:c:d]
  ExpressionPtr of, from, to, step;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

// What stands between the parentheses of a call.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr spread, spread_named;  // *a and **b
  void children(const std::function<void(Expression&)>&);
  Arguments evaluate(Render&, Scope&) const;
};

struct Call : Expression {
  ExpressionPtr callee;
  CallArguments arguments;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
  Value call(Render&, Scope&, const Value* caller) const;  // caller: of a call block
};

// Filters and tests are found by name at load.
using FilterFunction = Value (*)(Render&, const Value&, Arguments&);
using TestFunction = bool (*)(Render&, const Value&, Arguments&);

struct Filter : Expression {
  ExpressionPtr operand;  // null: of a filter block, which passes the text
  FilterFunction function = nullptr;
  CallArguments arguments;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
  Value apply(Render&, Scope&, const Value& text) const;  // to the innermost operand
};

struct Test : Expression {
  ExpressionPtr operand;
  TestFunction function = nullptr;
  CallArguments arguments;
  void children(const std::function<void(Expression&)>&) override;
  Value evaluate(Render&, Scope&) const override;
};

// What an assignment or a loop writes to.
struct Target {
  int line = 0;
  std::string name;           // a variable, or the namespace of `attribute`
  std::string attribute;      // of a namespace; else empty
  std::vector<Target> parts;  // a tuple of targets; else empty
  bool tuple = false;
  Reference reference;
  void declare(Symbols& symbols, bool as_parameter) const;
  void bind(Symbols& symbols);
  void walk(const NameWalker& walker) const;
  void assign(Render&, Scope&, const Value&) const;
};

enum class Flow : uint8_t { on, break_loop, next_turn };

struct Statement {
  int line = 0;
  virtual ~Statement() = default;
  virtual void declare(Symbols&) {}        // names it reads and assigns in the frame it stands in
  virtual void bind(Symbols&) {}           // after the whole frame is declared
  virtual void walk(const NameWalker&) {}  // all names, those of inner frames too
  virtual Flow run(Render&, Scope&) const = 0;
};
using Body = std::vector<std::unique_ptr<Statement>>;

}  // namespace lockstep::engine::language
