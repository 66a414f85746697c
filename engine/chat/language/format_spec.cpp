// Format specifications by Python's rules.
#include "engine/chat/language/format_spec.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/chat/language/builtins.h"
#include "engine/tokenizer/characters.h"

namespace lockstep::engine::language {
namespace {

constexpr int64_t most_digits = 1100;  // behind a float's point; no double has more

bool negative(const Value& value) {
  if (value.is(Kind::big_integer)) return value.text().text[0] == '-';
  return value.is(Kind::floating) ? std::signbit(value.as_double()) : value.as_integer() < 0;
}

// Digits of a float without sign for the types e, f, g and their capitals.
std::string float_digits(double value, char type, int64_t precision, bool alternate) {
  if (precision > most_digits) throw Fault("a width or precision of a format is too large");
  value = std::fabs(value);
  if (!std::isfinite(value)) {
    const char* text = std::isnan(value) ? "nan" : "inf";
    return type >= 'A' && type <= 'Z' ? upper(text) : text;
  }
  const char format[] = {
      '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : type, alternate ? type : '\0',
      '\0'};
  const int size = std::snprintf(nullptr, 0, format, static_cast<int>(precision), value);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, static_cast<int>(precision), value);
  text.pop_back();
  return text;
}

std::string group_digits(const std::string& digits, char separator, size_t every) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string result;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % every == 0) result += separator;
    result += digits[i];
  }
  return result + digits.substr(whole);
}

}  // namespace

int64_t read_format_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    if (value > widest_format) throw Fault("a width or precision of a format is too large");
  }
  return value;
}

Text pad(Render& render, const Text& text, const FormatSpec& spec, char align) {
  const int64_t missing = spec.width - static_cast<int64_t>(characters(text.text));
  if (missing <= 0) return text;
  const int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  Text result = repeat(render, Text(spec.fill, false), left);
  result.append(text);
  result.append(repeat(render, Text(spec.fill, false), missing - left));
  return result;
}

std::string integer_digits(const Value& value, int base, bool upper_case) {
  if (base == 10) {
    Meter meter;
    std::string digits =
        to_text(value.is(Kind::boolean) ? Value::integer(value.as_integer()) : value, meter).text;
    return digits[0] == '-' ? digits.substr(1) : digits;
  }
  if (value.is(Kind::big_integer)) throw Fault("an integer is too large to be formatted in another base");
  const std::string_view symbols = upper_case ? "0123456789ABCDEF" : "0123456789abcdef";
  const int64_t number = value.as_integer();
  uint64_t left = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  std::string digits;
  do {
    digits += symbols[left % static_cast<unsigned>(base)];
    left /= static_cast<unsigned>(base);
  } while (left > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

Text finish_number(Render& render, const Value& value, const std::string& prefix, std::string digits,
                   const FormatSpec& spec) {
  std::string sign = negative(value) ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.grouping) {
    const bool powers = spec.type == 'x' || spec.type == 'X' || spec.type == 'b' || spec.type == 'o';
    digits = group_digits(digits, spec.grouping, powers ? 4 : 3);
  }
  if (spec.align == '=') {
    const auto missing = spec.width - static_cast<int64_t>(sign.size() + prefix.size() + characters(digits));
    Text result(sign + prefix, false);
    if (missing > 0) result.append(repeat(render, Text(spec.fill, false), missing));
    result.append(digits, false);
    return result;
  }
  return pad(render, Text(sign + prefix + digits, false), spec, spec.align ? spec.align : '>');
}

namespace {

Text format_number(Render& render, const Value& value, const FormatSpec& spec) {
  const char type = spec.type;
  if (value.is(Kind::floating) || std::string_view("eEfFgG%").find(type) != std::string_view::npos) {
    const double number = value.as_double();
    const int64_t precision = spec.precision >= 0 ? spec.precision : 6;
    if (type == '%')
      return finish_number(render, value, "",
                           float_digits(number * 100, 'f', precision, spec.alternate) + "%", spec);
    if (type == 0 || type == 'n') {
      std::string digits = float_text(std::fabs(number));
      if (spec.precision >= 0 || type == 'n') {
        digits = float_digits(number, 'g', std::max<int64_t>(precision, 1), false);
        const bool whole = digits.find_first_not_of("0123456789") == std::string::npos;
        if (type == 0 && whole) digits += ".0";
      }
      return finish_number(render, value, "", digits, spec);
    }
    if (std::string_view("eEfFgG").find(type) == std::string_view::npos)
      throw Fault(std::string("Unknown format code '") + type + "' for object of type 'float'");
    const bool general = type == 'g' || type == 'G';
    return finish_number(
        render, value, "",
        float_digits(number, type, general && precision == 0 ? 1 : precision, spec.alternate), spec);
  }
  if (spec.precision >= 0) throw Fault("Precision not allowed in integer format specifier");
  const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  if (base == 10 && type != 0 && type != 'd' && type != 'n')
    throw Fault(std::string("Unknown format code '") + type + "' for object of type 'int'");
  const std::string prefix = spec.alternate && base != 10 ? std::string("0") + type : "";
  return finish_number(render, value, prefix, integer_digits(value, base, type == 'X'), spec);
}

FormatSpec parse_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '=' || c == '^'; };
  if (!text.empty()) {
    const size_t second = next_character(text, 0);
    if (second < text.size() && is_align(text[second])) {
      spec.fill = text.substr(0, second);
      spec.align = text[second];
      at = second + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = ++at > 0;
  if (at < text.size() && text[at] == '0') {
    if (!spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    ++at;
  }
  spec.width = read_format_number(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    const size_t from = ++at;
    spec.precision = read_format_number(text, at);
    if (at == from) throw Fault("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) throw Fault("Invalid format specifier '" + std::string(text) + "'");
  return spec;
}

}  // namespace

Text format_spec(Render& render, const Value& value, std::string_view text) {
  if (text.empty()) return to_text(value, render.meter);
  FormatSpec spec = parse_spec(text);
  if (value.is_number() && !(value.is(Kind::boolean) && spec.type == 's')) {
    if (value.is(Kind::boolean) && spec.type == 0)
      return pad(render, to_text(value, render.meter), spec,
                 spec.align && spec.align != '=' ? spec.align : '<');
    if (spec.type == 'c' && !value.is(Kind::floating)) {
      const int64_t code = need_integer(value);
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        throw Fault("a format's number is no character");
      std::string character;
      append_utf8(static_cast<uint32_t>(code), character);
      return pad(render, Text(character, false), spec, spec.align ? spec.align : '<');
    }
    return format_number(render, value, spec);
  }
  if (!value.is(Kind::string))
    throw Fault("unsupported format string passed to " + type_name(value) + ".__format__");
  if (spec.type != 0 && spec.type != 's')
    throw Fault(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
  if (spec.align == '=' && spec.fill != "0")
    throw Fault("'=' alignment not allowed in string format specifier");
  Text shown = value.text();
  if (spec.precision >= 0)
    shown = shown.slice(0, byte_offset(shown.text, static_cast<size_t>(spec.precision)));
  return pad(render, shown, spec, spec.align && spec.align != '=' ? spec.align : '<');
}

}  // namespace lockstep::engine::language
