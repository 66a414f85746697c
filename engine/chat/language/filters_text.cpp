// Filters on strings, and tojson.
#include <algorithm>
#include <cctype>

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/json.h"

namespace lockstep::engine::language {
namespace {

template <std::string (*map)(std::string_view)>
Value mapped(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("the filter", arguments, {});
  const Text text = to_text(value, render.meter);
  render.meter.make(text.text.size() * 4);
  return whole(render, map(text.text), text);
}

// Words begin at the text's start and behind runs of whitespace and -({[<; other than str.title().
std::string title_words(std::string_view text) {
  std::string result;
  const auto splits = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size()) {
      size_t next = end;
      if (splits(decode(text, next))) break;
      end = next;
    }
    if (end > at) {
      const size_t second = next_character(text, at);
      result += upper(text.substr(at, second - at)) + lower(text.substr(second, end - second));
    }
    at = end;
    while (at < text.size()) {
      size_t next = at;
      if (!splits(decode(text, next))) break;
      result += text.substr(at, next - at);
      at = next;
    }
  }
  return result;
}

Value string(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("string", arguments, {});
  return value.is(Kind::string) ? value : Value::string(to_text(value, render.meter));
}

Value trim(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("trim", arguments, {"chars"});
  const Text text = to_text(value, render.meter);
  return Value::string(strip(render, text, Side::both, given));
}

Value replace_filter(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("replace", arguments, {"old", "new", "count"});
  Text text = to_text(value, render.meter);
  text.safe = false;
  const int64_t count = given.unless_none(2) ? need_integer(*given[2]) : -1;
  return Value::string(replace(render, text, to_text(given.need(0), render.meter),
                               to_text(given.need(1), render.meter), count));
}

Value escape(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("escape", arguments, {});
  if (value.is(Kind::string) && value.text().safe) return value;
  const Text text = to_text(value, render.meter);
  render.meter.make(text.text.size() * 5);
  return Value::string(escape_html(text));
}

Value force_escape(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("forceescape", arguments, {});
  const Text text = to_text(value, render.meter);
  render.meter.make(text.text.size() * 5);
  return Value::string(escape_html(text));
}

Value safe(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("safe", arguments, {});
  Text text = to_text(value, render.meter);
  text.safe = true;
  return Value::string(std::move(text));
}

std::string quote(std::string_view text, bool in_query) {
  static constexpr char hex[] = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) || c == '_' || c == '.' || c == '-' || c == '~' ||
                                       (c == '/' && !in_query));
    if (plain) {
      result += c;
    } else if (c == ' ' && in_query) {
      result += '+';
    } else {
      result += '%';
      result += hex[byte >> 4];
      result += hex[byte & 15];
    }
  }
  return result;
}

Value url_encode(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("urlencode", arguments, {});
  if (value.is(Kind::string) || !iterable(value)) {
    const Text text = to_text(value, render.meter);
    return whole(render, quote(text.text, false), text);
  }
  std::string result;
  bool data = false, first = true;
  Arguments nothing;
  std::vector<Value> pairs = iterate(value, render.meter);
  for (const Value& entry : pairs) {
    std::vector<Value> parts = value.is(Kind::mapping)
                                   ? std::vector<Value>{entry, *value.dict().find(entry, render.meter)}
                                   : iterate(entry, render.meter);
    if (parts.size() != 2) throw Fault("urlencode needs pairs of a key and a value");
    const Text name = to_text(parts[0], render.meter), content = to_text(parts[1], render.meter);
    data = data || name.any_data() || content.any_data();
    if (!std::exchange(first, false)) result += '&';
    result += quote(name.text, true) + "=" + quote(content.text, true);
    render.meter.make(result.size());
  }
  return Value::string(Text(result, data));
}

Value format_filter(Render& render, const Value& value, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    throw Fault("format takes positional or keyword arguments, not both");
  const Text text = to_text(value, render.meter);
  if (arguments.named.empty())
    return Value::string(format_percent(render, text, Value::sequence(Kind::tuple, arguments.positional)));
  Dict dict;
  for (auto& [name, argument] : arguments.named) dict.set(Value::literal(name), argument, render.meter);
  return Value::string(format_percent(render, text, Value::mapping(std::move(dict))));
}

Value to_json(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = given.flag(0, false);
  style.sort_keys = given.flag(3, false);
  if (given.unless_none(1)) {
    style.indent =
        given[1]->is(Kind::string)
            ? given[1]->text().text
            : std::string(static_cast<size_t>(std::clamp<int64_t>(need_integer(*given[1]), 0, 1000)), ' ');
    style.item_separator = ",";
  }
  if (given.unless_none(2)) {
    const std::vector<Value> pair = iterate(*given[2], render.meter);
    if (pair.size() != 2 || !pair[0].is(Kind::string) || !pair[1].is(Kind::string))
      throw Fault("tojson: separators must be a pair of strings");
    style.item_separator = pair[0].text().text;
    style.key_separator = pair[1].text().text;
  }
  return Value::string(dump_json(value, style, render.meter));
}

constexpr Named<FilterFunction> filters[] = {
    {"capitalize", mapped<capitalize>},
    {"e", escape},
    {"escape", escape},
    {"forceescape", force_escape},
    {"format", format_filter},
    {"lower", mapped<lower>},
    {"replace", replace_filter},
    {"safe", safe},
    {"string", string},
    {"title", mapped<title_words>},
    {"tojson", to_json},
    {"trim", trim},
    {"upper", mapped<upper>},
    {"urlencode", url_encode},
};

}  // namespace

FilterFunction find_text_filter(std::string_view name) { return find_named(filters, name); }

FilterFunction find_filter(std::string_view name) {
  for (const auto find : {find_text_filter, find_layout_filter, find_sequence_filter, find_selection_filter,
                          find_number_filter})
    if (FilterFunction found = find(name)) return found;
  return nullptr;
}

}  // namespace lockstep::engine::language
