// "{}".format(...), by Python's rules.
#include <algorithm>

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/format_spec.h"

namespace lockstep::engine::language {
namespace {

// A replacement field's expression: name or number, then .attribute and [key].
Value field_value(Render& render, std::string_view field, const Arguments& arguments, int64_t& automatic) {
  size_t at = std::min(field.find_first_of(".["), field.size());
  const std::string_view first = field.substr(0, at);
  const bool number = !first.empty() && first.find_first_not_of("0123456789") == std::string_view::npos;
  Value value;
  if (first.empty() || number) {
    if ((first.empty() && automatic < 0) || (number && automatic > 0))
      throw Fault("cannot switch between manual field specification and automatic field numbering");
    size_t from = 0;
    const auto index = static_cast<size_t>(number ? read_format_number(first, from) : automatic);
    automatic = number ? -1 : automatic + 1;
    if (index >= arguments.positional.size())
      throw Fault("Replacement index " + std::to_string(index) + " out of range for positional args tuple");
    value = arguments.positional[index];
  } else {
    const Value* found = arguments.find(first);
    if (!found) throw Fault("the format names a missing key '" + std::string(first) + "'");
    value = *found;
  }
  while (at < field.size()) {
    const bool item = field[at] == '[';
    const size_t end = item ? field.find(']', at) : std::min(field.find_first_of(".[", at + 1), field.size());
    if (end == std::string_view::npos) throw Fault("Missing ']' in format string");
    const std::string_view name = field.substr(at + 1, end - at - 1);
    if (name.empty()) throw Fault("Empty attribute in format string");
    const bool index = item && name.find_first_not_of("0123456789") == std::string_view::npos;
    value = item ? item_of(render, value, index ? Value::decimal(name) : Value::literal(name))
                 : attribute_of(render, value, name);
    at = item ? end + 1 : end;
  }
  return value;
}

Text braces(Render& render, const Text& format, const Arguments& arguments, int64_t& automatic, int depth) {
  if (depth < 0) throw Fault("Max string recursion exceeded");
  const std::string& text = format.text;
  Text out;
  out.safe = format.safe;
  size_t at = 0;
  while (at < text.size()) {
    const size_t brace = std::min(text.find_first_of("{}", at), text.size());
    out.append_slice(format, at, brace);
    render.meter.charge(brace - at + 16 + format.runs.size());
    check_text_bytes(out.text.size());
    at = brace;
    if (at >= text.size()) break;
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      out.append_slice(format, at, at + 1);
      at += 2;
      continue;
    }
    if (text[at] == '}') throw Fault("Single '}' encountered in format string");
    int open = 1;
    size_t end = at + 1;
    while (end < text.size() && (text[end] != '}' || --open > 0)) open += text[end++] == '{';
    if (end >= text.size()) throw Fault("expected '}' before end of string");
    const std::string_view inner = std::string_view(text).substr(at + 1, end - at - 1);
    size_t name_end = 0;  // up to '!' or ':' outside of brackets
    for (bool bracket = false; name_end < inner.size(); ++name_end) {
      const char c = inner[name_end];
      if (c == '[') bracket = true;
      if (c == ']') bracket = false;
      if (!bracket && (c == '!' || c == ':')) break;
    }
    Value value = field_value(render, inner.substr(0, name_end), arguments, automatic);
    size_t spec_at = name_end;
    if (spec_at < inner.size() && inner[spec_at] == '!') {
      const char conversion = spec_at + 1 < inner.size() ? inner[spec_at + 1] : ' ';
      if (conversion == 's')
        value = Value::string(to_text(value, render.meter));
      else if (conversion == 'r' || conversion == 'a')
        value = Value::string(representation(value, render.meter));
      else
        throw Fault("Unknown conversion specifier in a format string");
      spec_at += 2;
      if (spec_at < inner.size() && inner[spec_at] != ':')
        throw Fault("expected ':' after conversion specifier");
    }
    const size_t spec_from = at + 1 + std::min(spec_at + 1, inner.size());
    const Text spec =
        braces(render, format.slice(spec_from, std::max(spec_from, end)), arguments, automatic, depth - 1);
    const Text shown = format_spec(render, value, spec.text);
    out.append(format.safe && !(value.is(Kind::string) && value.text().safe) ? escape_html(shown) : shown);
    at = end + 1;
  }
  return out;
}

}  // namespace

Text format_braces(Render& render, const Text& format, const Arguments& arguments) {
  int64_t automatic = 0;
  return braces(render, format, arguments, automatic, 2);
}

}  // namespace lockstep::engine::language
