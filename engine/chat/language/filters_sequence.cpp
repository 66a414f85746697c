// Filters on sequences and mappings as wholes.
#include <algorithm>

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/lookup.h"

namespace lockstep::engine::language {
namespace {

Value list_of(std::vector<Value> items) { return Value::sequence(Kind::list, std::move(items)); }
Value generated(std::vector<Value> items) { return Value::sequence(Kind::generator, std::move(items)); }

Value length_filter(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("length", arguments, {});
  if (value.is(Kind::string)) render.meter.charge(value.text().text.size());
  return Value::integer(static_cast<int64_t>(length(value)));
}

Value first(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("first", arguments, {});
  if (value.is(Kind::generator)) {
    const Sequence& sequence = value.sequence();
    if (sequence.next < sequence.items.size()) return sequence.items[sequence.next++];
    return Value::undefined("No first item, sequence was empty.");
  }
  const std::vector<Value> items = iterate(value, render.meter);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("last", arguments, {});
  if (value.is(Kind::generator)) throw Fault("'" + type_name(value) + "' object is not reversible");
  const std::vector<Value> items = iterate(value, render.meter);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value list(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("list", arguments, {});
  return list_of(iterate(value, render.meter));
}

Value items(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("items", arguments, {});
  if (value.is(Kind::undefined)) return generated({});
  if (!value.is(Kind::mapping)) throw Fault("Can only get item pairs from a mapping.");
  render.meter.charge(value.dict().size() * sizeof(Value) * 2);
  std::vector<Value> pairs;
  for (const auto& [key, item] : value.dict().entries())
    pairs.push_back(Value::sequence(Kind::tuple, {key, item}));
  return generated(std::move(pairs));
}

Value join_filter(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("join", arguments, {"d", "attribute"});
  const Getter getter(given[1]);
  const Text separator = given[0] ? to_text(*given[0], render.meter) : Text();
  std::vector<Text> parts;
  for (const Value& item : iterate(value, render.meter))
    parts.push_back(to_text(getter(render, item), render.meter));
  return Value::string(join(render, separator, parts));
}

Value reverse(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("reverse", arguments, {});
  if (value.is(Kind::string)) {
    const Value step = Value::integer(-1);
    return slice_of(render, value, nullptr, nullptr, &step);
  }
  if (!iterable(value)) throw Fault("argument must be iterable");
  std::vector<Value> reversed = iterate(value, render.meter);
  std::reverse(reversed.begin(), reversed.end());
  return value.is(Kind::generator) ? list_of(std::move(reversed)) : generated(std::move(reversed));
}

// Sorts stably by keys, as sorted() does.
void sort_by(Render& render, std::vector<Value>& values, const std::vector<Value>& keys, bool reversed) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return compare(keys[a], keys[b], render.meter, "<") == (reversed ? 1 : -1);
  });
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(values[i]);
  values = std::move(sorted);
}

Value sort(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Value> values = iterate(value, render.meter), keys;
  const bool sensitive = given.flag(1, false);
  std::vector<Getter> getters;
  if (given[2] && given[2]->is(Kind::string)) {
    std::string_view names = given[2]->text().text;
    while (true) {
      const size_t comma = names.find(',');
      const Value name = Value::literal(names.substr(0, comma));
      getters.emplace_back(&name);
      if (comma == std::string_view::npos) break;
      names.remove_prefix(comma + 1);
    }
  } else {
    getters.emplace_back(given[2]);
  }
  for (const Value& item : values) {
    std::vector<Value> key;
    for (const Getter& getter : getters) key.push_back(fold_case(render, getter(render, item), sensitive));
    keys.push_back(list_of(std::move(key)));
  }
  sort_by(render, values, keys, given.flag(0, false));
  return list_of(std::move(values));
}

Value dict_sort(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  if (!value.is(Kind::mapping)) throw Fault("dictsort needs a mapping, not " + type_name(value));
  const std::string by = given[1] ? given.text(1).text : "key";
  if (by != "key" && by != "value") throw Fault("You can only sort by either \"key\" or \"value\"");
  render.meter.charge(value.dict().size() * sizeof(Value) * 4);
  std::vector<Value> pairs, keys;
  for (const auto& [key, item] : value.dict().entries()) {
    keys.push_back(fold_case(render, by == "key" ? key : item, given.flag(0, false)));
    pairs.push_back(Value::sequence(Kind::tuple, {key, item}));
  }
  sort_by(render, pairs, keys, given.flag(2, false));
  return list_of(std::move(pairs));
}

Value group_by(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("groupby", arguments, {"attribute", "default", "case_sensitive"});
  const Getter getter(&given.need(0), given[1]);
  const bool sensitive = given.flag(2, false);
  std::vector<Value> values = iterate(value, render.meter), keys;
  for (const Value& item : values) keys.push_back(fold_case(render, getter(render, item), sensitive));
  sort_by(render, values, keys, false);
  std::vector<Value> groups;
  for (size_t at = 0; at < values.size();) {
    const Value shown = getter(render, values[at]);
    const Value key = fold_case(render, shown, sensitive);
    std::vector<Value> members;
    while (at < values.size() &&
           equal(fold_case(render, getter(render, values[at]), sensitive), key, render.meter))
      members.push_back(values[at++]);
    groups.push_back(Value::sequence(Kind::group, {shown, list_of(std::move(members))}));
  }
  return list_of(std::move(groups));
}

Value unique(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("unique", arguments, {"case_sensitive", "attribute"});
  const Getter getter(given[1]);
  Dict seen;
  std::vector<Value> kept;
  for (const Value& item : iterate(value, render.meter)) {
    Value key = fold_case(render, getter(render, item), given.flag(0, false));
    if (seen.find(key, render.meter)) continue;
    seen.set(std::move(key), Value::none(), render.meter);
    kept.push_back(item);
  }
  return generated(std::move(kept));
}

Value batch(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("batch", arguments, {"linecount", "fill_with"});
  const int64_t size = need_integer(given.need(0));
  std::vector<Value> batches, now;
  for (Value& item : iterate(value, render.meter)) {
    if (static_cast<int64_t>(now.size()) == size) {
      batches.push_back(list_of(std::move(now)));
      now.clear();
    }
    now.push_back(std::move(item));
  }
  if (!now.empty()) {
    if (given.unless_none(1) && static_cast<int64_t>(now.size()) < size) {
      render.meter.make(static_cast<size_t>(size) * sizeof(Value));
      now.resize(static_cast<size_t>(size), *given[1]);
    }
    batches.push_back(list_of(std::move(now)));
  }
  return generated(std::move(batches));
}

Value slice(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("slice", arguments, {"slices", "fill_with"});
  const std::vector<Value> all = iterate(value, render.meter);
  const int64_t count = need_integer(given.need(0));
  if (count == 0) throw Fault("integer division or modulo by zero");
  std::vector<Value> slices;
  if (count < 0) return generated({});
  render.meter.make(static_cast<size_t>(count) * sizeof(Value));
  const size_t each = all.size() / static_cast<size_t>(count),
               extra = all.size() % static_cast<size_t>(count);
  size_t at = 0;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const size_t size = each + (i < extra);
    std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(at),
                            all.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
    if (given.unless_none(1) && i >= extra) part.push_back(*given[1]);
    slices.push_back(list_of(std::move(part)));
  }
  return generated(std::move(slices));
}

constexpr Named<FilterFunction> filters[] = {
    {"batch", batch},      {"count", length_filter}, {"dictsort", dict_sort},
    {"first", first},      {"groupby", group_by},    {"items", items},
    {"join", join_filter}, {"last", last},           {"length", length_filter},
    {"list", list},        {"reverse", reverse},     {"slice", slice},
    {"sort", sort},        {"unique", unique},
};

}  // namespace

FilterFunction find_sequence_filter(std::string_view name) { return find_named(filters, name); }

}  // namespace lockstep::engine::language
