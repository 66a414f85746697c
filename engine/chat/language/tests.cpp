// The tests of the language: value is name(arguments).
#include <cmath>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

void none(Arguments& arguments) { const Parameters given("the test", arguments, {}); }

template <bool (*test)(const Value&)>
bool simple(Render&, const Value& value, Arguments& arguments) {
  none(arguments);
  return test(value);
}

Value remainder(Render& render, const Value& value, const Value& by) {
  return arithmetic(render, Operator::modulo, value, by);
}
template <int rest>
bool parity(Render& render, const Value& value, Arguments& arguments) {
  none(arguments);
  return equal(remainder(render, value, Value::integer(2)), Value::integer(rest), render.meter);
}
bool divisible(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("divisibleby", arguments, {"num"});
  return equal(remainder(render, value, given.need(0)), Value::integer(0), render.meter);
}

template <bool wanted>
bool equals(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("the test", arguments, {"other"});
  return equal(value, given.need(0), render.meter) == wanted;
}
template <int first, int last>
bool ordered(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("the test", arguments, {"other"});
  const int order = compare(value, given.need(0), render.meter, first < 0 ? "<" : ">");
  return order >= first && order <= last;
}
bool is_in(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("in", arguments, {"seq"});
  return contains(given.need(0), value, render.meter);
}

bool same_as(Render&, const Value& value, Arguments& arguments) {
  const Parameters given("sameas", arguments, {"other"});
  const Value& other = given.need(0);
  if (value.kind() != other.kind()) return false;
  if (value.is(Kind::none)) return true;
  if (value.is(Kind::boolean)) return value.as_integer() == other.as_integer();
  if (value.is(Kind::integer))  // the interpreter keeps one object for each small integer
    return value.as_integer() == other.as_integer() && value.as_integer() >= -5 && value.as_integer() <= 256;
  return value.identity() != nullptr && value.identity() == other.identity();
}

template <std::string_view const& method>
bool cased(Render& render, const Value& value, Arguments& arguments) {
  none(arguments);
  const Text text = to_text(value, render.meter);
  render.meter.charge(text.text.size() * Meter::per_character);
  return character_test(method)(text.text);
}
constexpr std::string_view lower_method = "islower", upper_method = "isupper";

bool is_filter(Render&, const Value& value, Arguments& arguments) {
  none(arguments);
  return value.is(Kind::string) && find_filter(value.text().text);
}
bool is_test(Render&, const Value& value, Arguments& arguments) {
  none(arguments);
  return value.is(Kind::string) && find_test(value.text().text);
}

bool defined(const Value& v) { return !v.is(Kind::undefined); }
bool undefined(const Value& v) { return v.is(Kind::undefined); }
bool is_none(const Value& v) { return v.is(Kind::none); }
bool boolean(const Value& v) { return v.is(Kind::boolean); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && v.as_integer(); }
bool is_false(const Value& v) { return v.is(Kind::boolean) && !v.as_integer(); }
bool integer(const Value& v) { return v.is_integer(); }
bool floating(const Value& v) { return v.is(Kind::floating); }
bool number(const Value& v) { return v.is_number(); }
bool string(const Value& v) { return v.is(Kind::string); }
bool mapping(const Value& v) { return v.is(Kind::mapping); }
bool sequence(const Value& v) {
  return v.is(Kind::string) || v.is(Kind::mapping) || v.is_indexed() || v.is(Kind::undefined);
}
bool callable(const Value& v) {
  return v.is(Kind::method) || (v.is(Kind::object) && v.object()->callable()) || v.is(Kind::undefined);
}
bool escaped(const Value& v) { return v.is(Kind::string) && v.text().safe; }

constexpr Named<TestFunction> tests[] = {
    {"odd", parity<1>},
    {"even", parity<0>},
    {"divisibleby", divisible},
    {"defined", simple<defined>},
    {"undefined", simple<undefined>},
    {"filter", is_filter},
    {"test", is_test},
    {"none", simple<is_none>},
    {"boolean", simple<boolean>},
    {"false", simple<is_false>},
    {"true", simple<is_true>},
    {"integer", simple<integer>},
    {"float", simple<floating>},
    {"lower", cased<lower_method>},
    {"upper", cased<upper_method>},
    {"string", simple<string>},
    {"mapping", simple<mapping>},
    {"number", simple<number>},
    {"sequence", simple<sequence>},
    {"iterable", simple<iterable>},
    {"callable", simple<callable>},
    {"sameas", same_as},
    {"escaped", simple<escaped>},
    {"in", is_in},
    {"==", equals<true>},
    {"eq", equals<true>},
    {"equalto", equals<true>},
    {"!=", equals<false>},
    {"ne", equals<false>},
    {">", ordered<1, 1>},
    {"gt", ordered<1, 1>},
    {"greaterthan", ordered<1, 1>},
    {">=", ordered<0, 1>},
    {"ge", ordered<0, 1>},
    {"<", ordered<-1, -1>},
    {"lt", ordered<-1, -1>},
    {"lessthan", ordered<-1, -1>},
    {"<=", ordered<-1, 0>},
    {"le", ordered<-1, 0>},
};

}  // namespace

TestFunction find_test(std::string_view name) { return find_named(tests, name); }

}  // namespace lockstep::engine::language
