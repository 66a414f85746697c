// Python's str() and repr() of values.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "engine/chat/language/value.h"

namespace lockstep::engine::language {
namespace {

// A string as Python writes it: single quotes unless that needs more escapes; marks are kept.
void represent_string(const Text& text, Text& out) {
  const bool doubled = text.text.find('\'') != std::string::npos && text.text.find('"') == std::string::npos;
  const char quote = doubled ? '"' : '\'';
  out.append(std::string_view(&quote, 1), false);
  size_t begin = 0;
  for (const MarkedText::Run& run : text.runs) {
    const std::string_view part = std::string_view(text.text).substr(begin, run.bytes);
    begin += run.bytes;
    size_t plain = 0;
    for (size_t at = 0; at < part.size();) {
      const size_t from = at;
      const char32_t c = decode(part, at);
      char escape[16] = "";
      if (c == '\n')
        std::snprintf(escape, sizeof escape, "\\n");
      else if (c == '\r')
        std::snprintf(escape, sizeof escape, "\\r");
      else if (c == '\t')
        std::snprintf(escape, sizeof escape, "\\t");
      else if (c == '\\' || c == static_cast<unsigned char>(quote))
        std::snprintf(escape, sizeof escape, "\\%c", static_cast<char>(c));
      else if (!is_printable(c))
        std::snprintf(escape, sizeof escape,
                      c < 0x100     ? "\\x%02x"
                      : c < 0x10000 ? "\\u%04x"
                                    : "\\U%08x",
                      static_cast<unsigned>(c));
      else
        continue;
      out.append(part.substr(plain, from - plain), run.data);
      out.append(escape, run.data);
      plain = at;
    }
    out.append(part.substr(plain), run.data);
  }
  out.append(std::string_view(&quote, 1), false);
}

void represent(const Value& value, Text& out, Meter& meter);

void represent_items(const std::vector<Value>& items, const char* open, const char* close, Text& out,
                     Meter& meter) {
  out.append(open, false);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ", false);
    represent(items[i], out, meter);
  }
  out.append(close, false);
}

std::string range_text(const std::vector<Value>& items) {
  if (items.empty()) return "range(0, 0)";
  const int64_t first = items.front().as_integer(), last = items.back().as_integer();
  const int64_t step = items.size() > 1 ? items[1].as_integer() - first : 1;
  std::string text = "range(" + std::to_string(first) + ", " + std::to_string(last + step);
  return text + (step == 1 ? ")" : ", " + std::to_string(step) + ")");
}

void represent_sequence(const Value& value, Text& out, Meter& meter) {
  const std::vector<Value>& items = value.items();
  switch (value.kind()) {
    case Kind::list: return represent_items(items, "[", "]", out, meter);
    case Kind::tuple:
    case Kind::group: return represent_items(items, "(", items.size() == 1 ? ",)" : ")", out, meter);
    case Kind::range: return out.append(range_text(items), false);
    case Kind::keys: return represent_items(items, "dict_keys([", "])", out, meter);
    case Kind::values: return represent_items(items, "dict_values([", "])", out, meter);
    case Kind::items: return represent_items(items, "dict_items([", "])", out, meter);
    default: return out.append("<generator object>", false);
  }
}

void represent(const Value& value, Text& out, Meter& meter) {
  meter.charge(16);
  check_text_bytes(out.text.size());
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined: return out.append("Undefined", false);
    case Kind::string: {
      meter.make(value.text().text.size());
      if (value.text().safe) out.append("Markup(", false);
      represent_string(value.text(), out);
      if (value.text().safe) out.append(")", false);
      return;
    }
    case Kind::mapping: {
      out.append("{", false);
      bool first = true;
      for (const Dict::Entry& entry : value.dict().entries()) {
        if (!std::exchange(first, false)) out.append(", ", false);
        represent(entry.first, out, meter);
        out.append(": ", false);
        represent(entry.second, out, meter);
      }
      return out.append("}", false);
    }
    default: break;
  }
  if (value.is_sequence()) return represent_sequence(value, out, meter);
  out.append(to_text(value, meter));
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  // The shortest digits that read back as the same number.
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t mark = text.find('e');
  std::string digits(text.substr(0, mark));
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  const std::string sign = digits[0] == '-' ? "-" : "";
  if (!sign.empty()) digits.erase(0, 1);
  if (digits.size() > 1) digits.erase(1, 1);  // the point
  if (exponent < -4 || exponent >= 16) {
    std::string result = sign + digits[0];
    if (digits.size() > 1) result += "." + digits.substr(1);
    const std::string power = std::to_string(std::abs(exponent));
    return result + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

Text to_text(const Value& value, Meter& meter) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined: return {};
    case Kind::none: return Text("None", false);
    case Kind::boolean: return Text(value.as_integer() ? "True" : "False", false);
    case Kind::integer: return Text(std::to_string(value.as_integer()), false);
    case Kind::floating: return Text(float_text(value.as_double()), false);
    case Kind::big_integer: return value.text();
    case Kind::string: meter.make(value.text().text.size()); return value.text();
    case Kind::object: return value.object()->print(meter);
    case Kind::method: return Text("<built-in method>", false);
    default: break;
  }
  Text out;
  represent(value, out, meter);
  return out;
}

Text representation(const Value& value, Meter& meter) {
  Text out;
  represent(value, out, meter);
  return out;
}

}  // namespace lockstep::engine::language
