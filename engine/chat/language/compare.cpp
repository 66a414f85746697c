// Truth, equality, order, containment, length and iteration of values.
#include <algorithm>
#include <cmath>

#include "engine/chat/language/value.h"

namespace lockstep::engine::language {
namespace {

// Sign of a - b for numbers that are no NaN.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is(Kind::floating) || b.is(Kind::floating)) {
    // A whole float in range compares as an integer, so that no digit is lost.
    const Value& number = a.is(Kind::floating) ? a : b;
    const Value& other = a.is(Kind::floating) ? b : a;
    if (std::isinf(number.as_double()) && !other.is(Kind::floating))
      return (number.as_double() > 0) == (&number == &a) ? 1 : -1;
    if (!other.is(Kind::floating) && std::fabs(number.as_double()) < 9.2e18 &&
        other.kind() != Kind::big_integer) {
      const auto whole = static_cast<int64_t>(number.as_double());
      const double rest = number.as_double() - static_cast<double>(whole);
      int sign = whole < other.as_integer()   ? -1
                 : whole > other.as_integer() ? 1
                 : rest > 0                   ? 1
                 : rest < 0                   ? -1
                                              : 0;
      return &number == &a ? sign : -sign;
    }
    const double x = a.as_double(), y = b.as_double();
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (!a.is(Kind::big_integer) && !b.is(Kind::big_integer))
    return a.as_integer() < b.as_integer() ? -1 : a.as_integer() > b.as_integer() ? 1 : 0;
  const auto sign_of = [](const Value& v) {
    return v.is(Kind::big_integer) ? (v.text().text[0] == '-' ? -1 : 1) : 0;
  };
  if (sign_of(a) != sign_of(b)) return sign_of(a) < sign_of(b) ? -1 : 1;
  const std::string &x = a.text().text, &y = b.text().text;  // both big, of one sign
  const int magnitude = x.size() != y.size() ? (x.size() < y.size() ? -1 : 1) : x.compare(y);
  return sign_of(a) * (magnitude < 0 ? -1 : magnitude > 0);
}

bool is_nan(const Value& value) { return value.is(Kind::floating) && std::isnan(value.as_double()); }

bool equal_dicts(const Dict& a, const Dict& b, Meter& meter) {
  if (a.size() != b.size()) return false;
  for (const Dict::Entry& entry : a.entries()) {
    const Value* other = b.find(entry.first, meter);
    if (!other || !equal(entry.second, *other, meter)) return false;
  }
  return true;
}

// Kinds whose sequences can be equal to each other.
int family(const Value& value) {
  switch (value.kind()) {
    case Kind::list: return 1;
    case Kind::tuple:
    case Kind::group: return 2;
    case Kind::range: return 3;
    case Kind::keys: return 4;
    case Kind::items: return 5;
    default: return 0;
  }
}

}  // namespace

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return value.as_integer() != 0;
    case Kind::floating: return value.as_double() != 0;
    case Kind::string: return !value.text().text.empty();
    case Kind::mapping: return value.dict().size() > 0;
    case Kind::big_integer:
    case Kind::generator:
    case Kind::object:
    case Kind::method: return true;
    default: return !value.items().empty();
  }
}

bool equal(const Value& a, const Value& b, Meter& meter) {
  if (a.is(Kind::string) && b.is(Kind::string)) {
    if (a.text().text.size() != b.text().text.size()) return false;
    meter.charge(a.text().text.size());
    return a.text().text == b.text().text;
  }
  meter.charge(4);
  if (a.is_number() && b.is_number()) return !is_nan(a) && !is_nan(b) && compare_numbers(a, b) == 0;
  if (a.is_sequence() && b.is_sequence()) {
    if (a.identity() == b.identity()) return true;
    if (family(a) == 0 || family(a) != family(b) || a.items().size() != b.items().size()) return false;
    for (size_t i = 0; i < a.items().size(); ++i)
      if (!equal(a.items()[i], b.items()[i], meter)) return false;
    return true;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::mapping: return a.identity() == b.identity() || equal_dicts(a.dict(), b.dict(), meter);
    case Kind::object:
    case Kind::method: return a.identity() == b.identity();
    default: return true;  // undefined, none
  }
}

int compare(const Value& a, const Value& b, Meter& meter, const char* operation) {
  for (const Value* side : {&a, &b})
    if (side->is(Kind::undefined)) throw Fault(side->text().text);
  if (a.is(Kind::string) && b.is(Kind::string)) {
    meter.charge(std::min(a.text().text.size(), b.text().text.size()));
    const int order = a.text().text.compare(b.text().text);  // UTF-8 sorts like its characters
    return order < 0 ? -1 : order > 0;
  }
  meter.charge(4);
  if (a.is_number() && b.is_number()) {
    if (is_nan(a) || is_nan(b)) return 2;  // neither less, equal nor greater
    return compare_numbers(a, b);
  }
  if ((a.is(Kind::list) && b.is(Kind::list)) || (a.is_tuple() && b.is_tuple())) {
    const size_t common = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < common; ++i)
      if (!equal(a.items()[i], b.items()[i], meter))
        return compare(a.items()[i], b.items()[i], meter, operation);
    return a.items().size() < b.items().size() ? -1 : a.items().size() > common ? 1 : 0;
  }
  throw Fault("'" + std::string(operation) + "' not supported between instances of '" + type_name(a) +
              "' and '" + type_name(b) + "'");
}

bool contains(const Value& container, const Value& item, Meter& meter) {
  switch (container.kind()) {
    case Kind::string: {
      if (item.is(Kind::undefined))
        throw Fault("'in <string>' requires string as left operand, not Undefined");
      if (!item.is(Kind::string))
        throw Fault("'in <string>' requires string as left operand, not " + type_name(item));
      meter.charge(container.text().text.size());
      return find_text(container.text().text, item.text().text) != std::string_view::npos;
    }
    case Kind::mapping: return container.dict().find(item, meter) != nullptr;
    case Kind::undefined: return false;
    case Kind::generator: {
      const Sequence& sequence = container.sequence();
      while (sequence.next < sequence.items.size())
        if (equal(sequence.items[sequence.next++], item, meter)) return true;
      return false;
    }
    default: break;
  }
  if (!container.is_sequence())
    throw Fault("argument of type '" + type_name(container) + "' is not iterable");
  return std::any_of(container.items().begin(), container.items().end(),
                     [&](const Value& value) { return equal(value, item, meter); });
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer:
    case Kind::big_integer: return "int";
    case Kind::floating: return "float";
    case Kind::string: return value.text().safe ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::group: return "_GroupTuple";
    case Kind::range: return "range";
    case Kind::keys: return "dict_keys";
    case Kind::values: return "dict_values";
    case Kind::items: return "dict_items";
    case Kind::generator: return "generator";
    case Kind::mapping: return "dict";
    case Kind::object: return value.object()->type();
    case Kind::method: return "builtin_function_or_method";
  }
  return "object";
}

bool has_length(const Value& value) {
  return value.is(Kind::string) || value.is(Kind::mapping) || value.is(Kind::undefined) ||
         (value.is_sequence() && !value.is(Kind::generator));
}

size_t length(const Value& value) {
  if (!has_length(value)) throw Fault("object of type '" + type_name(value) + "' has no len()");
  if (value.is(Kind::undefined)) return 0;
  if (value.is(Kind::string)) return characters(value.text().text);
  return value.is(Kind::mapping) ? value.dict().size() : value.items().size();
}

bool iterable(const Value& value) { return has_length(value) || value.is_sequence(); }

std::vector<Value> iterate(const Value& value, Meter& meter) {
  if (!iterable(value)) throw Fault("'" + type_name(value) + "' object is not iterable");
  std::vector<Value> items;
  if (value.is(Kind::undefined)) return items;
  if (value.is(Kind::string)) {
    const Text& text = value.text();
    meter.charge(text.text.size() * Meter::value_bytes);
    size_t run = 0, run_end = text.runs.empty() ? 0 : text.runs[0].bytes;
    for (size_t at = 0; at < text.text.size();) {
      const size_t next = next_character(text.text, at);
      while (at >= run_end) run_end += text.runs[++run].bytes;
      items.push_back(
          Value::string(Text(std::string_view(text.text).substr(at, next - at), text.runs[run].data)));
      at = next;
    }
    return items;
  }
  if (value.is(Kind::mapping)) {
    meter.charge(value.dict().size() * sizeof(Value));
    for (const Dict::Entry& entry : value.dict().entries()) items.push_back(entry.first);
    return items;
  }
  const Sequence& sequence = value.sequence();
  const size_t from = value.is(Kind::generator) ? std::exchange(sequence.next, sequence.items.size()) : 0;
  meter.charge((sequence.items.size() - from) * sizeof(Value));
  items.assign(sequence.items.begin() + static_cast<std::ptrdiff_t>(from), sequence.items.end());
  return items;
}

}  // namespace lockstep::engine::language
