// Methods of str.
#include <algorithm>
#include <limits>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

using Pieces = std::vector<Value>;

Value list_of(Pieces pieces) { return Value::sequence(Kind::list, std::move(pieces)); }

void keep(Render& render, Pieces& pieces, const Text& text, size_t from, size_t to) {
  render.meter.charge(to - from + Meter::value_bytes + text.runs.size());
  pieces.push_back(Value::string(text.slice(from, to)));
}

// str.split() at runs of whitespace.
Pieces split_space(Render& render, const Text& text, uint64_t left) {
  Pieces pieces;
  const std::string_view bytes = text.text;
  size_t at = strip_range(bytes, Side::left).first;
  while (at < bytes.size()) {
    size_t end = at;
    while (end < bytes.size()) {
      size_t next = end;
      if (is_space(decode(bytes, next))) break;
      end = next;
    }
    if (left-- == 0) {
      keep(render, pieces, text, at, bytes.size());
      break;
    }
    keep(render, pieces, text, at, end);
    at = end + strip_range(bytes.substr(end), Side::left).first;
  }
  return pieces;
}

Pieces rsplit_space(Render& render, const Text& text, uint64_t left) {
  Pieces pieces;
  const std::string_view bytes = text.text;
  size_t end = strip_range(bytes, Side::right).second;
  while (end > 0) {
    size_t from = end;
    while (from > 0) {
      const size_t before = previous_character(bytes, from);
      size_t at = before;
      if (is_space(decode(bytes, at))) break;
      from = before;
    }
    if (left-- == 0) {
      keep(render, pieces, text, 0, end);
      break;
    }
    keep(render, pieces, text, from, end);
    end = strip_range(bytes.substr(0, from), Side::right).second;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Value split(Render& render, const Value& self, Arguments& arguments, bool from_right) {
  const Parameters given(from_right ? "rsplit" : "split", arguments, {"sep", "maxsplit"});
  const Text& text = self.text();
  const int64_t most = given.integer(1, -1);
  uint64_t left = most < 0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(most);
  render.meter.charge(text.text.size());
  if (!given[0] || given[0]->is(Kind::none))
    return list_of(from_right ? rsplit_space(render, text, left) : split_space(render, text, left));
  const std::string& separator = given.text(0).text;
  if (separator.empty()) throw Fault("empty separator");
  Pieces pieces;
  if (!from_right) {
    size_t at = 0;
    for (size_t found = find_text(text.text, separator); found != std::string::npos && left > 0; --left) {
      keep(render, pieces, text, at, found);
      at = found + separator.size();
      found = find_text(text.text, separator, at);
    }
    keep(render, pieces, text, at, text.text.size());
    return list_of(std::move(pieces));
  }
  size_t end = text.text.size();
  while (left-- > 0 && end >= separator.size()) {
    const size_t found = find_last_text(std::string_view(text.text).substr(0, end), separator);
    if (found == std::string::npos) break;
    keep(render, pieces, text, found + separator.size(), end);
    end = found;
  }
  keep(render, pieces, text, 0, end);
  std::reverse(pieces.begin(), pieces.end());
  return list_of(std::move(pieces));
}

Value split_lines(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("splitlines", arguments, {"keepends"});
  const bool keep_ends = given.flag(0, false);
  const Text& text = self.text();
  const std::string_view bytes = text.text;
  render.meter.charge(bytes.size());
  Pieces pieces;
  size_t from = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = at;
    const char32_t c = decode(bytes, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    keep(render, pieces, text, from, keep_ends ? at : end);
    from = at;
  }
  if (from < bytes.size()) keep(render, pieces, text, from, bytes.size());
  return list_of(std::move(pieces));
}

template <Side side>
Value strip(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("strip", arguments, {"chars"});
  const Text& text = self.text();
  render.meter.charge(text.text.size());
  const auto [first, last] = given[0] && !given[0]->is(Kind::none)
                                 ? strip_range(text.text, side, given.text(0).text)
                                 : strip_range(text.text, side);
  const size_t listed = given[0] && given[0]->is(Kind::string) ? given[0]->text().text.size() : 0;
  render.meter.charge((first + text.text.size() - last) * (Meter::per_character + listed));
  return Value::string(text.slice(first, last));
}

// [first, last) in bytes of the optional arguments start and end.
std::pair<size_t, size_t> window(Render& render, const Text& text, const Parameters& given, bool& valid) {
  valid = true;
  const bool bounded = (given[1] && !given[1]->is(Kind::none)) || (given[2] && !given[2]->is(Kind::none));
  render.meter.charge(text.text.size());
  if (!bounded) return {0, text.text.size()};
  const auto count = static_cast<int64_t>(characters(text.text));
  const auto bound = [&](size_t i, int64_t otherwise) {
    int64_t at = given[i] && !given[i]->is(Kind::none) ? need_integer(*given[i]) : otherwise;
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

template <bool from_right>
Value partition(Render& render, const Value& self, Arguments& arguments) {
  const Parameters given("partition", arguments, {"sep"});
  const Text &text = self.text(), &separator = given.text(0);
  if (separator.text.empty()) throw Fault("empty separator");
  render.meter.charge(text.text.size());
  const size_t found =
      from_right ? find_last_text(text.text, separator.text) : find_text(text.text, separator.text);
  const Value nothing = Value::literal("");
  if (found == std::string::npos)
    return Value::sequence(Kind::tuple,
                           from_right ? Pieces{nothing, nothing, self} : Pieces{self, nothing, nothing});
  Pieces pieces;
  keep(render, pieces, text, 0, found);
  pieces.push_back(*given[0]);
  keep(render, pieces, text, found + separator.text.size(), text.text.size());
  return Value::sequence(Kind::tuple, std::move(pieces));
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
    {"lstrip", strip<Side::left>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace_method},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<1>},
    {"rpartition", partition<true>},
    {"rsplit", [](Render& r, const Value& v, Arguments& a) { return split(r, v, a, true); }},
    {"rstrip", strip<Side::right>},
    {"split", [](Render& r, const Value& v, Arguments& a) { return split(r, v, a, false); }},
    {"splitlines", split_lines},
    {"startswith", affix<true>},
    {"strip", strip<Side::both>},
    {"swapcase", mapped<swapcase>},
    {"title", mapped<title>},
    {"upper", mapped<upper>},
    {"zfill", zero_fill},
};

}  // namespace

const Method* find_string_method(std::string_view name) {
  const auto found =
      std::find_if(std::begin(methods), std::end(methods), [&](const Method& m) { return m.name == name; });
  return found == std::end(methods) ? nullptr : found;
}

}  // namespace lockstep::engine::language
