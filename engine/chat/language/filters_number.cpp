// Filters on numbers: abs, int, float, round, sum, min, max.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/lookup.h"

namespace lockstep::engine::language {
namespace {

// The text of a number as int() and float() take it: stripped, with single underscores between digits only.
std::optional<std::string> plain_number(std::string_view text) {
  const auto [first, last] = strip_range(text, Side::both);
  std::string plain;
  for (size_t i = first; i < last; ++i) {
    if (text[i] != '_') {
      plain += text[i];
      continue;
    }
    const auto alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (i == first || i + 1 >= last || !alnum(text[i - 1]) || !alnum(text[i + 1])) return std::nullopt;
  }
  return plain;
}

std::optional<Value> parse_integer(std::string_view text, int64_t base) {
  std::optional<std::string> plain = plain_number(text);
  if (!plain || base == 1 || base < 0 || base > 36) return std::nullopt;
  std::string digits = *plain;
  const bool negative = !digits.empty() && digits[0] == '-';
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.erase(0, 1);
  if (digits.size() > 2 && digits[0] == '0') {
    const char mark = static_cast<char>(digits[1] | 0x20);
    const int64_t prefix = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (prefix > 0 && (base == prefix || base == 0)) {
      base = prefix;
      digits.erase(0, 2);
    }
  }
  if (base == 0) base = 10;
  if (digits.empty()) return std::nullopt;
  uint64_t value = 0;
  bool large = false;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'                     ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10
                                                               : 99;
    if (digit >= base) return std::nullopt;
    large = large || value > (INT64_MAX - 36) / static_cast<uint64_t>(base);
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
  }
  if (base == 10) return Value::decimal((negative ? "-" : "") + digits);
  if (large) throw Fault("an integer is too large");
  return Value::integer(negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value));
}

std::optional<double> parse_float(std::string_view text) {
  const std::optional<std::string> plain = plain_number(text);
  if (!plain || plain->empty()) return std::nullopt;
  // strtod() takes more than Python: hexadecimal, nan(...).
  if (plain->find_first_of("xX(pP") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain->c_str(), &end);
  if (*end != '\0') return std::nullopt;
  return value;
}

std::optional<Value> whole_of(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  char digits[400];
  std::snprintf(digits, sizeof digits, "%.0f", std::trunc(value));
  return Value::decimal(digits);
}

Value to_int(Render&, const Value& value, Arguments& arguments) {
  const Parameters given("int", arguments, {"default", "base"});
  const Value otherwise = given[0] ? *given[0] : Value::integer(0);
  if (value.is(Kind::undefined)) throw Fault(value.text().text);
  if (value.is(Kind::big_integer)) return value;
  if (value.is(Kind::integer) || value.is(Kind::boolean)) return Value::integer(value.as_integer());
  if (value.is(Kind::floating)) {
    if (std::isinf(value.as_double())) throw Fault("cannot convert float infinity to integer");
    return whole_of(value.as_double()).value_or(otherwise);
  }
  if (!value.is(Kind::string)) return otherwise;
  if (std::optional<Value> parsed = parse_integer(value.text().text, given.integer(1, 10))) return *parsed;
  const std::optional<double> number = parse_float(value.text().text);
  if (!number) return otherwise;
  if (std::isinf(*number)) throw Fault("cannot convert float infinity to integer");
  return whole_of(*number).value_or(otherwise);
}

Value to_float(Render&, const Value& value, Arguments& arguments) {
  const Parameters given("float", arguments, {"default"});
  const Value otherwise = given[0] ? *given[0] : Value::floating(0);
  if (value.is(Kind::undefined)) throw Fault(value.text().text);
  if (value.is_number()) return Value::floating(value.as_double());
  if (!value.is(Kind::string)) return otherwise;
  const std::optional<double> number = parse_float(value.text().text);
  return number ? Value::floating(*number) : otherwise;
}

Value absolute(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("abs", arguments, {});
  if (!value.is_number()) throw Fault("bad operand type for abs(): '" + type_name(value) + "'");
  if (value.is(Kind::floating)) return Value::floating(std::fabs(value.as_double()));
  std::string digits =
      to_text(value.is(Kind::boolean) ? Value::integer(value.as_integer()) : value, render.meter).text;
  if (digits[0] == '-') digits.erase(0, 1);
  return Value::decimal(digits);
}

// round() of a float: the decimal text is rounded half to even from the exact value.
double round_float(double value, int64_t precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision >= 0) {
    char text[800];
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), value);
    return std::strtod(text, nullptr);
  }
  if (precision < -308) return std::copysign(0.0, value);
  const double power = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(value / power) * power;
}

Value round_integer(int64_t value, int64_t precision) {
  if (precision >= 0) return Value::integer(value);
  if (precision < -18) return Value::integer(0);
  int64_t power = 1;
  for (int64_t i = precision; i < 0; ++i) power *= 10;
  int64_t rest = value % power;
  if (rest < 0) rest += power;
  const int64_t low = value - rest;
  const bool up = rest > power / 2 || (rest == power / 2 && (low / power) % 2 != 0);
  int64_t result = low;
  if (up && __builtin_add_overflow(low, power, &result)) throw Fault("an integer is too large");
  return Value::integer(result);
}

Value round(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("round", arguments, {"precision", "method"});
  const int64_t precision = given.integer(0, 0);
  const std::string method = given[1] ? given.text(1).text : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    throw Fault("method must be common, ceil or floor");
  if (value.is(Kind::undefined)) throw Fault(value.text().text);
  if (!value.is_number()) throw Fault("type " + type_name(value) + " doesn't define __round__ method");
  if (method == "common") {
    if (value.is(Kind::floating)) return Value::floating(round_float(value.as_double(), precision));
    if (value.is(Kind::big_integer)) return value;
    return round_integer(value.as_integer(), precision);
  }
  const Value power = arithmetic(render, Operator::power, Value::integer(10), Value::integer(precision));
  const Value scaled = arithmetic(render, Operator::multiply, value, power);
  Value cut = scaled;
  if (scaled.is(Kind::floating)) {
    const std::optional<Value> whole =
        whole_of(method == "ceil" ? std::ceil(scaled.as_double()) : std::floor(scaled.as_double()));
    if (!whole) throw Fault("cannot convert float infinity to integer");
    cut = *whole;
  }
  return arithmetic(render, Operator::divide, cut, power);
}

Value sum(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("sum", arguments, {"attribute", "start"});
  const Getter getter(given[0]);
  Value total = given[1] ? *given[1] : Value::integer(0);
  if (total.is(Kind::string)) throw Fault("sum() can't sum strings; use the filter join instead");
  for (const Value& item : iterate(value, render.meter))
    total = arithmetic(render, Operator::add, total, getter(render, item));
  return total;
}

template <int sign>
Value extreme(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("min and max", arguments, {"case_sensitive", "attribute"});
  const Getter getter(given[1]);
  const bool sensitive = given.flag(0, false);
  const std::vector<Value> items = iterate(value, render.meter);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key = fold_case(render, getter(render, items[0]), sensitive);
  for (size_t i = 1; i < items.size(); ++i) {
    Value key = fold_case(render, getter(render, items[i]), sensitive);
    if (compare(key, best_key, render.meter, sign < 0 ? "<" : ">") != sign) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

constexpr Named<FilterFunction> filters[] = {{"abs", absolute},   {"float", to_float},  {"int", to_int},
                                             {"max", extreme<1>}, {"min", extreme<-1>}, {"round", round},
                                             {"sum", sum}};

}  // namespace

FilterFunction find_number_filter(std::string_view name) { return find_named(filters, name); }

}  // namespace lockstep::engine::language
