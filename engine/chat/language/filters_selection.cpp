// Filters that apply filters, tests and attributes to the items of a sequence; default and attr.
#include "engine/chat/language/builtins.h"
#include "engine/chat/language/lookup.h"

namespace lockstep::engine::language {

namespace {

Value generated(std::vector<Value> items) { return Value::sequence(Kind::generator, std::move(items)); }

Value map(Render& render, const Value& value, Arguments& arguments) {
  if (!truth(value)) return generated({});
  std::vector<Value> results;
  if (arguments.positional.empty() && arguments.find("attribute")) {
    const Parameters given("map", arguments, {"attribute", "default"});
    const Getter getter(given[0], given[1]);
    for (const Value& item : iterate(value, render.meter)) results.push_back(getter(render, item));
    return generated(std::move(results));
  }
  if (arguments.positional.empty()) throw Fault("map requires a filter argument");
  const Value& name = arguments.positional[0];
  const FilterFunction filter = name.is(Kind::string) ? find_filter(name.text().text) : nullptr;
  if (!filter) throw Fault("there is no filter named " + representation(name, render.meter).text);
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (const Value& item : iterate(value, render.meter)) {
    Render::Level level(render);
    render.meter.charge(Meter::step);
    Arguments given = rest;
    results.push_back(filter(render, item, given));
  }
  return generated(std::move(results));
}

template <bool keep, bool by_attribute>
Value select(Render& render, const Value& value, Arguments& arguments) {
  if (!truth(value)) return generated({});
  if (by_attribute && arguments.positional.empty()) throw Fault("Missing parameter for attribute name");
  const Getter getter(by_attribute ? &arguments.positional[0] : nullptr);
  constexpr size_t skipped = by_attribute ? 1 : 0;
  TestFunction test = nullptr;
  Arguments rest;
  rest.named = arguments.named;
  if (arguments.positional.size() > skipped) {
    const Value& name = arguments.positional[skipped];
    test = name.is(Kind::string) ? find_test(name.text().text) : nullptr;
    if (!test) throw Fault("there is no test named " + representation(name, render.meter).text);
    rest.positional.assign(arguments.positional.begin() + skipped + 1, arguments.positional.end());
  }
  std::vector<Value> chosen;
  for (const Value& item : iterate(value, render.meter)) {
    render.meter.charge(Meter::step);
    const Value subject = getter(render, item);
    Arguments given = rest;
    if ((test ? test(render, subject, given) : truth(subject)) == keep) chosen.push_back(item);
  }
  return generated(std::move(chosen));
}

Value default_value(Render&, const Value& value, Arguments& arguments) {
  const Parameters given("default", arguments, {"default_value", "boolean"});
  if (value.is(Kind::undefined) || (given.flag(1, false) && !truth(value)))
    return given[0] ? *given[0] : Value::literal("");
  return value;
}

Value attr(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("attr", arguments, {"name"});
  const std::string& name = given.text(0).text;
  // As value.name, without falling back to value["name"].
  if (value.is(Kind::mapping) && !find_method(value, name))
    return Value::undefined("'dict object' has no attribute '" + name + "'");
  return attribute_of(render, value, name);
}

constexpr Named<FilterFunction> filters[] = {{"attr", attr},
                                             {"d", default_value},
                                             {"default", default_value},
                                             {"map", map},
                                             {"reject", select<false, false>},
                                             {"rejectattr", select<false, true>},
                                             {"select", select<true, false>},
                                             {"selectattr", select<true, true>}};

}  // namespace

FilterFunction find_selection_filter(std::string_view name) { return find_named(filters, name); }

}  // namespace lockstep::engine::language
