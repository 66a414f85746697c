// Analysis and evaluation of expressions.
#include "engine/chat/language/builtins.h"
#include "engine/chat/language/nodes.h"
#include "engine/chat/language/render.h"

namespace lockstep::engine::language {
namespace {

using Visit = std::function<void(Expression&)>;
void visit(const ExpressionPtr& child, const Visit& f) {
  if (child) f(*child);
}

}  // namespace

Value Expression::value(Render& render, Scope& scope) const {
  Render::Level level(render);
  render.meter.charge(Meter::step);
  return evaluate(render, scope);
}

void Expression::declare(Symbols& symbols) {
  if (auto* name = dynamic_cast<Name*>(this)) symbols.load(name->name);
  children([&](Expression& child) { child.declare(symbols); });
}

void Expression::bind(Symbols& symbols) {
  if (auto* name = dynamic_cast<Name*>(this)) name->reference = symbols.resolve(name->name);
  children([&](Expression& child) { child.bind(symbols); });
}

void Expression::walk(const NameWalker& walker) {
  if (auto* name = dynamic_cast<Name*>(this)) walker(name->name, false);
  children([&](Expression& child) { child.walk(walker); });
}

Value Name::evaluate(Render&, Scope& scope) const {
  const Value& value = scope.at(reference);
  return value.is(Kind::missing) ? Value::undefined("'" + name + "' is undefined") : value;
}

void Listing::children(const Visit& f) {
  for (const ExpressionPtr& item : items) f(*item);
}
Value Listing::evaluate(Render& render, Scope& scope) const {
  std::vector<Value> values;
  values.reserve(items.size());
  render.meter.charge(items.size() * sizeof(Value));
  for (const ExpressionPtr& item : items) values.push_back(item->value(render, scope));
  return Value::sequence(kind, std::move(values));
}

void Mapping::children(const Visit& f) {
  for (const auto& [key, value] : entries) {
    f(*key);
    f(*value);
  }
}
Value Mapping::evaluate(Render& render, Scope& scope) const {
  Dict dict;
  for (const auto& [key, value] : entries) {
    Value name = key->value(render, scope);
    dict.set(std::move(name), value->value(render, scope), render.meter);
  }
  return Value::mapping(std::move(dict));
}

void Binary::children(const Visit& f) {
  visit(left, f);
  visit(right, f);
}
Value Binary::evaluate(Render& render, Scope& scope) const {
  Value a = left->value(render, scope);
  if (op == Operator::logical_and) return truth(a) ? right->value(render, scope) : a;
  if (op == Operator::logical_or) return truth(a) ? a : right->value(render, scope);
  const Value b = right->value(render, scope);
  render.line = line;
  return arithmetic(render, op, a, b);
}

void Unary::children(const Visit& f) { visit(operand, f); }
Value Unary::evaluate(Render& render, Scope& scope) const {
  const Value value = operand->value(render, scope);
  if (sign == Sign::logical_not) return Value::boolean(!truth(value));
  render.line = line;
  if (value.is(Kind::undefined)) throw Fault(value.text().text);
  if (!value.is_number()) throw Fault("bad operand type for unary sign: '" + type_name(value) + "'");
  if (sign == Sign::plus) return value.is(Kind::boolean) ? Value::integer(value.as_integer()) : value;
  if (value.is(Kind::floating)) return Value::floating(-value.as_double());
  std::string digits =
      to_text(value.is(Kind::boolean) ? Value::integer(value.as_integer()) : value, render.meter).text;
  if (digits[0] == '-')
    digits.erase(0, 1);
  else
    digits.insert(0, "-");
  return Value::decimal(digits);
}

void Concatenation::children(const Visit& f) {
  for (const ExpressionPtr& part : parts) f(*part);
}
Value Concatenation::evaluate(Render& render, Scope& scope) const {
  Text text;
  for (const ExpressionPtr& part : parts) {
    const Text more = to_text(part->value(render, scope), render.meter);
    render.line = line;
    render.meter.make(text.text.size() + more.text.size());
    text.append(more);
  }
  return Value::string(std::move(text));
}

void Comparison::children(const Visit& f) {
  visit(first, f);
  for (const auto& [op, operand] : rest) visit(operand, f);
}
Value Comparison::evaluate(Render& render, Scope& scope) const {
  Value left = first->value(render, scope);
  for (const auto& [op, operand] : rest) {
    Value right = operand->value(render, scope);
    render.line = line;
    bool holds = false;
    if (op == "==" || op == "!=") {
      holds = equal(left, right, render.meter) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = contains(right, left, render.meter) == (op == "in");
    } else {
      const int order = compare(left, right, render.meter, op.c_str());
      holds = order == 2   ? false
              : op == "<"  ? order < 0
              : op == "<=" ? order <= 0
              : op == ">"  ? order > 0
                           : order >= 0;
    }
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

void Conditional::children(const Visit& f) {
  visit(condition, f);
  visit(then, f);
  visit(otherwise, f);
}
Value Conditional::evaluate(Render& render, Scope& scope) const {
  if (truth(condition->value(render, scope))) return then->value(render, scope);
  if (otherwise) return otherwise->value(render, scope);
  return Value::undefined("the inline if-expression on line " + std::to_string(line) +
                          " evaluated to false and no else section was defined.");
}

void Attribute::children(const Visit& f) { visit(of, f); }
Value Attribute::evaluate(Render& render, Scope& scope) const {
  const Value value = of->value(render, scope);
  render.line = line;
  return attribute_of(render, value, name);
}

void Item::children(const Visit& f) {
  visit(of, f);
  visit(index, f);
}
Value Item::evaluate(Render& render, Scope& scope) const {
  const Value value = of->value(render, scope);
  const Value key = index->value(render, scope);
  render.line = line;
  return item_of(render, value, key);
}

void Slice::children(const Visit& f) {
  visit(of, f);
  visit(from, f);
  visit(to, f);
  visit(step, f);
}
Value Slice::evaluate(Render& render, Scope& scope) const {
  const Value value = of->value(render, scope);
  const auto bound = [&](const ExpressionPtr& part) {
    return part ? part->value(render, scope) : Value::none();
  };
  const Value first = bound(from), last = bound(to), by = bound(step);
  render.line = line;
  return slice_of(render, value, &first, &last, &by);
}

void CallArguments::children(const Visit& f) {
  for (const ExpressionPtr& argument : positional) f(*argument);
  for (const auto& [name, argument] : named) f(*argument);
  visit(spread, f);
  visit(spread_named, f);
}
Arguments CallArguments::evaluate(Render& render, Scope& scope) const {
  Arguments result;
  for (const ExpressionPtr& argument : positional)
    result.positional.push_back(argument->value(render, scope));
  for (const auto& [name, argument] : named) result.named.emplace_back(name, argument->value(render, scope));
  if (spread)
    for (Value& value : iterate(spread->value(render, scope), render.meter))
      result.positional.push_back(std::move(value));
  if (spread_named) {
    const Value more = spread_named->value(render, scope);
    if (!more.is(Kind::mapping)) throw Fault("argument after ** must be a mapping, not " + type_name(more));
    for (const auto& [key, value] : more.dict().entries()) {
      if (!key.is(Kind::string)) throw Fault("keywords must be strings");
      if (result.find(key.text().text))
        throw Fault("got multiple values for argument '" + key.text().text + "'");
      render.meter.charge(sizeof(Value));
      result.named.emplace_back(key.text().text, value);
    }
  }
  return result;
}

void Call::children(const Visit& f) {
  visit(callee, f);
  arguments.children(f);
}
Value Call::call(Render& render, Scope& scope, const Value* caller) const {
  const Value function = callee->value(render, scope);
  Arguments given = arguments.evaluate(render, scope);
  if (caller) given.named.emplace_back("caller", *caller);
  render.line = line;
  return call_value(render, function, given);
}
Value Call::evaluate(Render& render, Scope& scope) const { return call(render, scope, nullptr); }

void Filter::children(const Visit& f) {
  visit(operand, f);
  arguments.children(f);
}
Value Filter::evaluate(Render& render, Scope& scope) const {
  const Value value = operand->value(render, scope);
  Arguments given = arguments.evaluate(render, scope);
  render.line = line;
  return function(render, value, given);
}
Value Filter::apply(Render& render, Scope& scope, const Value& text) const {
  const Value value = operand ? static_cast<const Filter&>(*operand).apply(render, scope, text) : text;
  Arguments given = arguments.evaluate(render, scope);
  render.line = line;
  return function(render, value, given);
}

void Test::children(const Visit& f) {
  visit(operand, f);
  arguments.children(f);
}
Value Test::evaluate(Render& render, Scope& scope) const {
  const Value value = operand->value(render, scope);
  Arguments given = arguments.evaluate(render, scope);
  render.line = line;
  return Value::boolean(function(render, value, given));
}

}  // namespace lockstep::engine::language
