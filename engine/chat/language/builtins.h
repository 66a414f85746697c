// Filters, tests, methods and functions of the language, found by name.
#pragma once

#include <string_view>

#include "engine/chat/language/arguments.h"
#include "engine/chat/language/nodes.h"
#include "engine/chat/language/render.h"
#include "engine/chat/language/value.h"

namespace lockstep::engine::language {

FilterFunction find_filter(std::string_view name);  // nullptr if there is none
TestFunction find_test(std::string_view name);

using MethodFunction = Value (*)(Render&, const Value& self, Arguments&);
struct Method {
  std::string_view name;
  MethodFunction function;  // nullptr: exists in Python, but the sandbox refuses it
};
const Method* find_method(const Value& self, std::string_view name);

// Functions every template sees: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
const Dict& globals();

// Tables of the parts, each searched by find_...().
template <class Function>
struct Named {
  std::string_view name;
  Function function;
};
template <class Table>
auto find_named(const Table& table, std::string_view name) -> decltype(table[0].function) {
  for (const auto& entry : table)
    if (entry.name == name) return entry.function;
  return nullptr;
}
template <class Table>
const Method* find_listed(const Table& table, std::string_view name) {
  for (const Method& method : table)
    if (method.name == name) return &method;
  return nullptr;
}
FilterFunction find_text_filter(std::string_view name);
FilterFunction find_layout_filter(std::string_view name);
FilterFunction find_sequence_filter(std::string_view name);
FilterFunction find_selection_filter(std::string_view name);
FilterFunction find_number_filter(std::string_view name);
const Method* find_string_method(std::string_view name);
const Method* find_split_method(std::string_view name);
const Method* find_container_method(const Value& self, std::string_view name);

// Operators and look-ups of Python and Jinja2, also used by filters.
Value attribute_of(Render&, const Value& of, std::string_view name);  // a.name
Value item_of(Render&, const Value& of, const Value& index);          // a[index]
Value slice_of(Render&, const Value& of, const Value* from, const Value* to, const Value* step);
Value arithmetic(Render&, Operator op, const Value& a, const Value& b);
Value call_value(Render&, const Value& callee, Arguments&);

Text format_percent(Render&, const Text& format, const Value& arguments);     // "%s" % arguments
Text format_braces(Render&, const Text& format, const Arguments& arguments);  // "{}".format(...)
Text format_spec(Render&, const Value& value, std::string_view spec);         // one "{:spec}"

// Replaces up to `count` (negative: all) occurrences; marks of every part stay.
Text replace(Render&, const Text& text, const Text& from, const Text& to, int64_t count);
Text repeat(Render&, const Text& text, int64_t times);
// str.strip() by its optional parameter 0, the characters; str.splitlines().
Text strip(Render&, const Text& text, Side side, const Parameters& given);
std::vector<Text> lines_of(Render&, const Text& text, bool keep_ends);
Text join(Render&, const Text& separator, const std::vector<Text>& parts);
// A text computed from another as a whole: data if any of that is.
Value whole(Render&, const std::string& bytes, const Text& source);

}  // namespace lockstep::engine::language
