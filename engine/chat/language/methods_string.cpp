// Methods of str, but for those that split (methods_split.cpp).
#include <algorithm>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

template <Side side>
Value strip_method(Render& render, const Value& self, Arguments& arguments) {
  return Value::string(strip(render, self.text(), side, Parameters("strip", arguments, {"chars"})));
}

// [first, last) in bytes of the optional arguments start and end.
std::pair<size_t, size_t> window(Render& render, const Text& text, const Parameters& given, bool& valid) {
  valid = true;
  const bool bounded = given.unless_none(1) || given.unless_none(2);
  render.meter.charge(text.text.size());
  if (!bounded) return {0, text.text.size()};
  const auto count = static_cast<int64_t>(characters(text.text));
  const auto bound = [&](size_t i, int64_t otherwise) {
    int64_t at = given.unless_none(i) ? need_integer(*given[i]) : otherwise;
    if (at < 0) at = std::max<int64_t>(at + count, 0);
    return at;
  };
  const int64_t first = bound(1, 0), last = std::min(bound(2, count), count);
  valid = first <= last;
  if (!valid) return {0, 0};
  return {byte_offset(text.text, static_cast<size_t>(first)),
          byte_offset(text.text, static_cast<size_t>(last))};
}

template <bool at_start>
Value affix(Render& render, const Value& self, Arguments& arguments) {
  const char* name = at_start ? "startswith" : "endswith";
  const Parameters given(name, arguments, {"prefix", "start", "end"});
  bool valid = false;
  const auto [first, last] = window(render, self.text(), given, valid);
  const std::string_view part = std::string_view(self.text().text).substr(first, last - first);
  const auto matches = [&, valid = valid](const Value& value) {
    if (!value.is(Kind::string))
      throw Fault(std::string(name) + " first arg must be str or a tuple of str, not " + type_name(value));
    const std::string& affix = value.text().text;
    if (!valid || affix.size() > part.size()) return false;
    return part.substr(at_start ? 0 : part.size() - affix.size(), affix.size()) == affix;
  };
  const Value& wanted = given.need(0);
  if (wanted.is(Kind::undefined)) throw Fault(wanted.text().text);
  if (!wanted.is_tuple()) return Value::boolean(matches(wanted));
  return Value::boolean(std::any_of(wanted.items().begin(), wanted.items().end(), matches));
}

// Position of a part in characters, or -1.
int64_t search(Render& render, const char* name, const Value& self, Arguments& arguments, bool last_one) {
  const Parameters given(name, arguments, {"sub", "start", "end"});
  const std::string& wanted = given.text(0).text;
  bool valid = false;
  const auto [first, last] = window(render, self.text(), given, valid);
  if (!valid) return -1;
  const std::string_view bytes = self.text().text;
  const std::string_view part = bytes.substr(first, last - first);
  const size_t found = last_one ? find_last_text(part, wanted) : find_text(part, wanted);
  return found == std::string_view::npos ? -1
                                         : static_cast<int64_t>(characters(bytes.substr(0, first + found)));
}

template <bool last_one, bool must>
Value find(Render& render, const Value& self, Arguments& arguments) {
  const int64_t found = search(render, "find", self, arguments, last_one);
  if (must && found < 0) throw Fault("substring not found");
  return Value::integer(found);
}

Value count(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("count", arguments, {"sub", "start", "end"});
  const std::string& wanted = given.text(0).text;
  bool valid = false;
  const auto [first, last] = window(render, self.text(), given, valid);
  if (!valid) return Value::integer(0);
  const std::string_view part = std::string_view(self.text().text).substr(first, last - first);
  if (wanted.empty()) return Value::integer(static_cast<int64_t>(characters(part)) + 1);
  int64_t times = 0;
  for (size_t at = find_text(part, wanted); at != std::string_view::npos;
       at = find_text(part, wanted, at + wanted.size()))
    ++times;
  return Value::integer(times);
}

Value replace_method(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("replace", arguments, {"old", "new", "count"});
  return Value::string(replace(render, self.text(), given.text(0), given.text(1), given.integer(2, -1)));
}

Value join_method(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("join", arguments, {"iterable"});
  std::vector<Text> parts;
  const std::vector<Value> items = iterate(given.need(0), render.meter);
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::string))
      throw Fault("sequence item " + std::to_string(i) + ": expected str instance, " + type_name(items[i]) +
                  " found");
    render.meter.charge(items[i].text().text.size());
    const bool escaped = self.text().safe && !items[i].text().safe;
    parts.push_back(escaped ? escape_html(items[i].text()) : items[i].text());
  }
  Text joined = join(render, self.text(), parts);
  joined.safe = self.text().safe;
  return Value::string(std::move(joined));
}

template <std::string (*map)(std::string_view)>
Value mapped(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("the method", arguments, {});
  render.meter.make(self.text().text.size() * 3);
  return whole(render, map(self.text().text), self.text());
}

template <int which>
Value character_method(Render& render, const Value& self, Arguments& arguments) {
  static constexpr std::string_view names[] = {"isalnum",     "isalpha",      "isascii", "isdecimal",
                                               "isdigit",     "isidentifier", "islower", "isnumeric",
                                               "isprintable", "isspace",      "istitle", "isupper"};
  const Parameters given("the method", arguments, {});
  render.meter.charge(self.text().text.size() * Meter::per_character);
  return Value::boolean(character_test(names[which])(self.text().text));
}

// center, ljust, rjust: side as where the text stays.
template <int align>
Value justify(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("the method", arguments, {"width", "fillchar"});
  static const Text space(" ", false);
  const Text& fill = given[1] ? given.text(1) : space;
  if (characters(fill.text) != 1) throw Fault("The fill character must be exactly one character long");
  const int64_t width = need_integer(given.need(0)),
                size = static_cast<int64_t>(characters(self.text().text));
  const int64_t padding = std::max<int64_t>(width - size, 0);
  const int64_t left = align == 0 ? padding / 2 + (padding & width & 1) : align < 0 ? 0 : padding;
  Text result = repeat(render, fill, left);
  result.append(self.text());
  result.append(repeat(render, fill, padding - left));
  return Value::string(std::move(result));
}

Value zero_fill(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("zfill", arguments, {"width"});
  const Text& text = self.text();
  const int64_t missing = need_integer(given.need(0)) - static_cast<int64_t>(characters(text.text));
  const size_t sign = !text.text.empty() && (text.text[0] == '-' || text.text[0] == '+') ? 1 : 0;
  Text result = text.slice(0, sign);
  result.append(repeat(render, Text("0", false), missing));
  result.append_slice(text, sign, text.text.size());
  return Value::string(std::move(result));
}

template <bool prefix>
Value remove_affix(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("the method", arguments, {"affix"});
  const std::string &text = self.text().text, &affix = given.text(0).text;
  render.meter.charge(text.size());
  if (affix.empty() || affix.size() > text.size() ||
      text.compare(prefix ? 0 : text.size() - affix.size(), affix.size(), affix) != 0)
    return self;
  return Value::string(prefix ? self.text().slice(affix.size(), text.size())
                              : self.text().slice(0, text.size() - affix.size()));
}

Value expand_tabs(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("expandtabs", arguments, {"tabsize"});
  const int64_t width = given.integer(0, 8);
  Text result;
  int64_t column = 0;
  for (const Value& value : iterate(self, render.meter)) {
    const Text& character = value.text();
    if (character.text == "\t") {
      const int64_t blanks = width > 0 ? width - column % width : 0;
      result.append(repeat(render, Text(" ", character.any_data()), blanks));
      column += blanks;
      continue;
    }
    column = character.text == "\n" || character.text == "\r" ? 0 : column + 1;
    result.append(character);
  }
  return Value::string(std::move(result));
}

Value format_method(Render& render, const Value& self, Arguments& arguments) {
  return Value::string(format_braces(render, self.text(), arguments));
}

Value format_map(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("format_map", arguments, {"mapping"});
  if (!given.need(0).is(Kind::mapping)) throw Fault("format_map() takes a mapping");
  Arguments named;
  for (const auto& [key, value] : given[0]->dict().entries())
    if (key.is(Kind::string)) named.named.emplace_back(key.text().text, value);
  render.meter.charge(named.named.size() * sizeof(Value));
  return Value::string(format_braces(render, self.text(), named));
}

constexpr Method methods[] = {
    {"capitalize", mapped<capitalize>},
    {"casefold", mapped<casefold>},
    {"center", justify<0>},
    {"count", count},
    {"endswith", affix<false>},
    {"expandtabs", expand_tabs},
    {"find", find<false, false>},
    {"format", format_method},
    {"format_map", format_map},
    {"index", find<false, true>},
    {"isalnum", character_method<0>},
    {"isalpha", character_method<1>},
    {"isascii", character_method<2>},
    {"isdecimal", character_method<3>},
    {"isdigit", character_method<4>},
    {"isidentifier", character_method<5>},
    {"islower", character_method<6>},
    {"isnumeric", character_method<7>},
    {"isprintable", character_method<8>},
    {"isspace", character_method<9>},
    {"istitle", character_method<10>},
    {"isupper", character_method<11>},
    {"join", join_method},
    {"ljust", justify<-1>},
    {"lower", mapped<lower>},
    {"lstrip", strip_method<Side::left>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace_method},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<1>},
    {"rstrip", strip_method<Side::right>},
    {"startswith", affix<true>},
    {"strip", strip_method<Side::both>},
    {"swapcase", mapped<swapcase>},
    {"title", mapped<title>},
    {"upper", mapped<upper>},
    {"zfill", zero_fill},
};

}  // namespace

const Method* find_string_method(std::string_view name) {
  if (const Method* method = find_split_method(name)) return method;
  return find_listed(methods, name);
}

}  // namespace lockstep::engine::language
