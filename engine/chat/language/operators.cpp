// Arithmetic, look-up and calls with Python's and Jinja2's rules.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

const char* symbol(Operator op) {
  switch (op) {
    case Operator::add: return "+";
    case Operator::subtract: return "-";
    case Operator::multiply: return "*";
    case Operator::divide: return "/";
    case Operator::floor_divide: return "//";
    case Operator::modulo: return "%";
    default: return "**";
  }
}

[[noreturn]] void refuse(Operator op, const Value& a, const Value& b) {
  throw Fault("unsupported operand types for " + std::string(symbol(op)) + ": '" + type_name(a) + "' and '" +
              type_name(b) + "'");
}

[[noreturn]] void overflow() { throw Fault("integer arithmetic beyond 64 bits is not supported"); }

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) throw Fault("division by zero");
  if (a == std::numeric_limits<int64_t>::min() && b == -1) overflow();
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) overflow();
  }
  return result;
}

double float_modulo(double a, double b) {
  if (b == 0) throw Fault("float modulo");
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

double float_floor_divide(double a, double b) {
  if (b == 0) throw Fault("float floor division by zero");
  const double quotient = (a - float_modulo(a, b)) / b;
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value float_arithmetic(Operator op, double a, double b) {
  switch (op) {
    case Operator::add: return Value::floating(a + b);
    case Operator::subtract: return Value::floating(a - b);
    case Operator::multiply: return Value::floating(a * b);
    case Operator::divide:
      if (b == 0) throw Fault("division by zero");
      return Value::floating(a / b);
    case Operator::floor_divide: return Value::floating(float_floor_divide(a, b));
    case Operator::modulo: return Value::floating(float_modulo(a, b));
    default: {
      if (a == 0 && b < 0) throw Fault("0.0 cannot be raised to a negative power");
      const double result = std::pow(a, b);
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) throw Fault("the power is no real number");
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) throw Fault("the power is too large");
      return Value::floating(result);
    }
  }
}

Value integer_arithmetic(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool over = false;
  switch (op) {
    case Operator::add: over = __builtin_add_overflow(a, b, &result); break;
    case Operator::subtract: over = __builtin_sub_overflow(a, b, &result); break;
    case Operator::multiply: over = __builtin_mul_overflow(a, b, &result); break;
    case Operator::floor_divide: result = floor_divide(a, b); break;
    case Operator::modulo:
      if (b == 0) throw Fault("integer modulo by zero");
      result = b == -1 ? 0 : a - floor_divide(a, b) * b;
      break;
    case Operator::power:
      if (b < 0) return float_arithmetic(op, static_cast<double>(a), static_cast<double>(b));
      result = integer_power(a, b);
      break;
    default: return float_arithmetic(op, static_cast<double>(a), static_cast<double>(b));
  }
  if (over) overflow();
  return Value::integer(result);
}

Value add_texts(Render& render, const Text& a, const Text& b) {
  render.meter.make(a.text.size() + b.text.size());
  if (a.safe != b.safe) {  // one is marked safe for HTML: the other gets escaped
    Text sum = a.safe ? a : escape_html(a);
    sum.append(a.safe ? escape_html(b) : b);
    sum.safe = true;
    return Value::string(std::move(sum));
  }
  Text sum = a;
  sum.append(b);
  return Value::string(std::move(sum));
}

Value repeat_sequence(Render& render, const Value& sequence, int64_t times) {
  std::vector<Value> items;
  const auto count = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  const uint64_t bytes = sequence.items().size() * sizeof(Value);
  if (bytes > 0 && count > max_text_bytes / bytes) throw Fault("a list grows past its limit");
  render.meter.charge(count * bytes);
  for (uint64_t i = 0; i < count; ++i)
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  return Value::sequence(sequence.is(Kind::list) ? Kind::list : Kind::tuple, std::move(items));
}

bool same_list_kind(const Value& a, const Value& b) {
  return (a.is(Kind::list) && b.is(Kind::list)) || (a.is_tuple() && b.is_tuple());
}

Value multiply(Render& render, const Value& a, const Value& b) {
  const bool a_counts = a.is(Kind::integer) || a.is(Kind::boolean),
             b_counts = b.is(Kind::integer) || b.is(Kind::boolean);
  if (a_counts && !b.is_number()) return multiply(render, b, a);
  if (!b_counts || !(a.is(Kind::string) || a.is(Kind::list) || a.is_tuple()))
    refuse(Operator::multiply, a, b);
  if (a.is(Kind::string)) return Value::string(repeat(render, a.text(), b.as_integer()));
  return repeat_sequence(render, a, b.as_integer());
}

}  // namespace

Value arithmetic(Render& render, Operator op, const Value& a, const Value& b) {
  if (op == Operator::modulo && a.is(Kind::string)) return Value::string(format_percent(render, a.text(), b));
  for (const Value* side : {&a, &b})
    if (side->is(Kind::undefined)) throw Fault(side->text().text);
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::floating) || b.is(Kind::floating) || op == Operator::divide)
      return float_arithmetic(op, a.as_double(), b.as_double());
    if (a.is(Kind::big_integer) || b.is(Kind::big_integer)) overflow();
    return integer_arithmetic(op, a.as_integer(), b.as_integer());
  }
  if (op == Operator::add) {
    if (a.is(Kind::string) && b.is(Kind::string)) return add_texts(render, a.text(), b.text());
    if (!same_list_kind(a, b)) refuse(op, a, b);
    render.meter.charge((a.items().size() + b.items().size()) * sizeof(Value));
    std::vector<Value> items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return Value::sequence(a.is(Kind::list) ? Kind::list : Kind::tuple, std::move(items));
  }
  if (op == Operator::multiply) return multiply(render, a, b);
  refuse(op, a, b);
}

namespace {

Value no_attribute(const Value& of, std::string_view name) {
  const std::string type = of.is(Kind::none)     ? "None"
                           : of.is(Kind::object) ? type_name(of)
                                                 : type_name(of) + " object";
  return Value::undefined("'" + type + "' has no attribute '" + std::string(name) + "'");
}

// The attribute of that name, or missing.
Value own_attribute(const Value& of, std::string_view name) {
  if (of.is(Kind::object)) return of.object()->attribute(name);
  if (of.is(Kind::group)) {
    if (name == "grouper") return of.items()[0];
    if (name == "list") return of.items()[1];
  }
  const Method* method = find_method(of, name);
  if (!method) return {};
  if (!method->function)
    return Value::undefined("access to attribute '" + std::string(name) + "' of '" + type_name(of) +
                            "' object is unsafe.");
  return Value::method(of, method);
}

// of[index], or missing where Python raises a TypeError or LookupError.
Value subscript(Render& render, const Value& of, const Value& index) {
  if (of.is(Kind::mapping)) {
    const bool hashable = !index.is(Kind::list) && !index.is(Kind::mapping) && !index.is(Kind::generator);
    const Value* found = hashable ? of.dict().find(index, render.meter) : nullptr;
    return found ? *found : Value();
  }
  if (!index.is(Kind::integer) && !index.is(Kind::boolean)) return {};
  int64_t at = index.as_integer();
  if (of.is(Kind::string)) {
    const std::string& text = of.text().text;
    render.meter.charge(text.size());
    const auto count = static_cast<int64_t>(characters(text));
    if (at < 0) at += count;
    if (at < 0 || at >= count) return {};
    const size_t from = byte_offset(text, static_cast<size_t>(at));
    return Value::string(of.text().slice(from, next_character(text, from)));
  }
  if (!of.is_indexed()) return {};
  const auto count = static_cast<int64_t>(of.items().size());
  if (at < 0) at += count;
  return at < 0 || at >= count ? Value() : of.items()[static_cast<size_t>(at)];
}

}  // namespace

Value attribute_of(Render& render, const Value& of, std::string_view name) {
  if (of.is(Kind::undefined)) throw Fault(of.text().text);
  Value found = own_attribute(of, name);
  if (!found.is(Kind::missing)) return found;
  if (of.is(Kind::mapping)) found = subscript(render, of, Value::literal(name));
  return found.is(Kind::missing) ? no_attribute(of, name) : found;
}

Value item_of(Render& render, const Value& of, const Value& index) {
  if (of.is(Kind::undefined)) throw Fault(of.text().text);
  Value found = subscript(render, of, index);
  if (found.is(Kind::missing) && index.is(Kind::string)) found = own_attribute(of, index.text().text);
  if (!found.is(Kind::missing)) return found;
  if (index.is(Kind::string)) return no_attribute(of, index.text().text);
  return Value::undefined(type_name(of) + " object has no element " +
                          representation(index, render.meter).text);
}

Value slice_of(Render& render, const Value& of, const Value* from, const Value* to, const Value* by) {
  if (of.is(Kind::undefined)) throw Fault(of.text().text);
  if (!of.is(Kind::string) && !of.is_indexed())
    throw Fault("'" + type_name(of) + "' object cannot be sliced");
  const auto given = [](const Value* v) { return v && !v->is(Kind::none); };
  const int64_t step = given(by) ? need_integer(*by) : 1;
  if (step == 0) throw Fault("slice step cannot be zero");
  if (of.is(Kind::string)) render.meter.charge(of.text().text.size());
  const auto count = static_cast<int64_t>(length(of));
  // As Python clamps the bounds.
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? count : count - 1;
  const auto clamp = [&](const Value* v, int64_t otherwise) {
    if (!given(v)) return otherwise;
    int64_t at = need_integer(*v);
    if (at < 0) at = std::max(at, std::numeric_limits<int64_t>::min() + count) + count;
    return std::clamp(at, lowest, highest);
  };
  const int64_t first = clamp(from, step > 0 ? lowest : highest),
                last = clamp(to, step > 0 ? highest : lowest);
  if (of.is(Kind::string) && step == 1) {
    const std::string& text = of.text().text;
    const size_t begin = byte_offset(text, static_cast<size_t>(first));
    const size_t end = last <= first ? begin
                                     : begin + byte_offset(std::string_view(text).substr(begin),
                                                           static_cast<size_t>(last - first));
    return Value::string(of.text().slice(begin, end));
  }
  const std::vector<Value> items = of.is(Kind::string) ? iterate(of, render.meter) : of.items();
  std::vector<Value> picked;
  for (int64_t i = first; step > 0 ? i < last : i > last;) {
    picked.push_back(items[static_cast<size_t>(i)]);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  render.meter.charge(picked.size() * sizeof(Value));
  if (!of.is(Kind::string))
    return Value::sequence(of.is(Kind::group) ? Kind::tuple : of.kind(), std::move(picked));
  Text text;
  for (const Value& character : picked) text.append(character.text());
  text.safe = of.text().safe;
  return Value::string(std::move(text));
}

Value call_value(Render& render, const Value& callee, Arguments& arguments) {
  Render::Level level(render);
  if (callee.is(Kind::undefined)) throw Fault(callee.text().text);
  if (callee.is(Kind::method)) return callee.method().function(render, callee.method_self(), arguments);
  if (callee.is(Kind::object)) return callee.object()->call(render, arguments);
  throw Fault("'" + type_name(callee) + "' object is not callable");
}

}  // namespace lockstep::engine::language
