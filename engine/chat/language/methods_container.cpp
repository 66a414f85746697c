// Methods of list, tuple, range and dict. The ones that change their object exist, but the sandbox refuses
// them.
#include <algorithm>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

Value sequence_count(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("count", arguments, {"value"});
  return Value::integer(std::count_if(self.items().begin(), self.items().end(), [&](const Value& item) {
    return equal(item, given.need(0), render.meter);
  }));
}

Value sequence_index(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("index", arguments, {"value", "start", "stop"});
  const auto size = static_cast<int64_t>(self.items().size());
  const auto bound = [&](size_t i, int64_t otherwise) {
    const int64_t at = given.integer(i, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t last = bound(2, size);
  for (int64_t i = bound(1, 0); i < last; ++i)
    if (equal(self.items()[static_cast<size_t>(i)], given.need(0), render.meter)) return Value::integer(i);
  throw Fault(representation(given.need(0), render.meter).text + " is not in list");
}

Value copy(Render&, const Value& self, Arguments& arguments) {
  const Parameters given("copy", arguments, {});
  return self;  // values do not change
}

Value get(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("get", arguments, {"key", "default"});
  const Value* found = self.dict().find(given.need(0), render.meter);
  return found ? *found : given[1] ? *given[1] : Value::none();
}

template <Kind kind>
Value view(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("the method", arguments, {});
  render.meter.charge(self.dict().size() * sizeof(Value) * 2);
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict().entries()) {
    if constexpr (kind == Kind::keys) items.push_back(key);
    if constexpr (kind == Kind::values) items.push_back(value);
    if constexpr (kind == Kind::items) items.push_back(Value::sequence(Kind::tuple, {key, value}));
  }
  return Value::sequence(kind, std::move(items));
}

constexpr Method list_methods[] = {{"append", nullptr},       {"clear", nullptr},  {"copy", copy},
                                   {"count", sequence_count}, {"extend", nullptr}, {"index", sequence_index},
                                   {"insert", nullptr},       {"pop", nullptr},    {"remove", nullptr},
                                   {"reverse", nullptr},      {"sort", nullptr}};
constexpr Method tuple_methods[] = {{"count", sequence_count}, {"index", sequence_index}};
constexpr Method dict_methods[] = {{"clear", nullptr},
                                   {"copy", copy},
                                   {"fromkeys", nullptr},
                                   {"get", get},
                                   {"items", view<Kind::items>},
                                   {"keys", view<Kind::keys>},
                                   {"pop", nullptr},
                                   {"popitem", nullptr},
                                   {"setdefault", nullptr},
                                   {"update", nullptr},
                                   {"values", view<Kind::values>}};

}  // namespace

const Method* find_container_method(const Value& self, std::string_view name) {
  if (self.is(Kind::mapping)) return find_listed(dict_methods, name);
  if (self.is(Kind::list)) return find_listed(list_methods, name);
  return self.is_tuple() || self.is(Kind::range) ? find_listed(tuple_methods, name) : nullptr;
}

const Method* find_method(const Value& self, std::string_view name) {
  return self.is(Kind::string) ? find_string_method(name) : find_container_method(self, name);
}

}  // namespace lockstep::engine::language
