// "%s" % arguments, "{}".format(...) and format specifications, by Python's rules.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0, grouping = 0;
  bool alternate = false;
  int64_t width = 0, precision = -1;
};

constexpr int64_t widest = 1 << 20;
constexpr int64_t most_digits = 1100;  // behind a float's point; no double has more

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    if (value > widest) throw Fault("a width or precision of a format is too large");
  }
  return value;
}

Text pad(Render& render, const Text& text, const Spec& spec, char align) {
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

Text finish_number(Render& render, const Value& value, std::string prefix, std::string digits,
                   const Spec& spec) {
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

Text format_number(Render& render, const Value& value, const Spec& spec) {
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

Spec parse_spec(std::string_view text) {
  Spec spec;
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
  spec.width = read_number(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    const size_t from = ++at;
    spec.precision = read_number(text, at);
    if (at == from) throw Fault("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) throw Fault("Invalid format specifier '" + std::string(text) + "'");
  return spec;
}

}  // namespace

Text format_spec(Render& render, const Value& value, std::string_view text) {
  if (text.empty()) return to_text(value, render.meter);
  Spec spec = parse_spec(text);
  if (value.is_number() && !(value.is(Kind::boolean) && spec.type == 's')) {
    if (value.is(Kind::boolean) && spec.type == 0)
      return pad(render, to_text(value, render.meter), spec,
                 spec.align && spec.align != '=' ? spec.align : '<');
    if (spec.type == 'c') {
      std::string character;
      encode(character, static_cast<char32_t>(value.as_integer()));
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

namespace {

// One "%..." at `at`, which moves behind it.
class Percent {
 public:
  Percent(Render& render, const Text& format, const Value& arguments)
      : render_(render), format_(format), arguments_(arguments) {}

  Text run() {
    const std::string& text = format_.text;
    out_.safe = format_.safe;
    size_t at = 0;
    while (at < text.size()) {
      const size_t percent = std::min(text.find('%', at), text.size());
      out_.append_slice(format_, at, percent);
      render_.meter.charge(percent - at + 16);
      at = percent;
      if (at < text.size()) directive(at);
      if (out_.text.size() > max_text_bytes) throw Fault("a text grows past 64 MiB");
    }
    const bool tuple = arguments_.is_tuple();
    const bool subscriptable =
        arguments_.is_indexed() || arguments_.is(Kind::mapping) || arguments_.is(Kind::undefined);
    if (tuple ? used_ < arguments_.items().size() && !named_ : used_ == 0 && !named_ && !subscriptable)
      throw Fault("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  const Value& next() {
    if (arguments_.is_tuple()) {
      if (used_ >= arguments_.items().size()) throw Fault("not enough arguments for format string");
      return arguments_.items()[used_++];
    }
    if (used_++ > 0) throw Fault("not enough arguments for format string");
    return arguments_;
  }

  void directive(size_t& at) {
    const std::string& text = format_.text;
    const size_t start = at++;
    Value value;
    if (at < text.size() && text[at] == '(') {
      const size_t close = text.find(')', at);
      if (close == std::string::npos) throw Fault("incomplete format key");
      if (!arguments_.is(Kind::mapping)) throw Fault("format requires a mapping");
      const Value key = Value::literal(std::string_view(text).substr(at + 1, close - at - 1));
      const Value* found = arguments_.dict().find(key, render_.meter);
      if (!found) throw Fault("the format names a missing key '" + key.text().text + "'");
      value = *found;
      named_ = true;
      at = close + 1;
    }
    Spec spec;
    bool zero = false;
    for (; at < text.size() && std::string_view("#0- +").find(text[at]) != std::string_view::npos; ++at) {
      if (text[at] == '-') spec.align = '<';
      if (text[at] == '0') zero = true;
      if (text[at] == '#') spec.alternate = true;
      if (text[at] == '+' || (text[at] == ' ' && spec.sign != '+')) spec.sign = text[at];
    }
    spec.width = star(at) ? width_from(next(), spec) : read_number(text, at);
    if (at < text.size() && text[at] == '.') {
      ++at;
      spec.precision = star(at) ? std::max<int64_t>(need_integer(next()), 0) : read_number(text, at);
    }
    while (at < text.size() && (text[at] == 'l' || text[at] == 'h' || text[at] == 'L')) ++at;
    if (at >= text.size()) throw Fault("incomplete format");
    const char type = text[at++];
    if (type == '%') return out_.append("%", false);
    if (value.is(Kind::missing)) value = next();
    if (zero && !spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    convert(value, spec, type, start);
  }

  bool star(size_t& at) const {
    if (at >= format_.text.size() || format_.text[at] != '*') return false;
    ++at;
    return true;
  }
  static int64_t width_from(const Value& value, Spec& spec) {
    int64_t width = need_integer(value);
    if (width < 0) spec.align = '<';
    width = std::abs(width);
    if (width > widest) throw Fault("a width or precision of a format is too large");
    return width;
  }

  void convert(const Value& value, Spec spec, char type, size_t at) {
    if (type == 's' || type == 'r' || type == 'a' || (type == 'c' && value.is(Kind::string))) {
      Text shown =
          type == 'r' || type == 'a' ? representation(value, render_.meter) : to_text(value, render_.meter);
      if (type == 'c' && characters(shown.text) != 1) throw Fault("%c requires int or char");
      if (spec.precision >= 0)
        shown = shown.slice(0, byte_offset(shown.text, static_cast<size_t>(spec.precision)));
      if (format_.safe && !(value.is(Kind::string) && value.text().safe)) shown = escape_html(shown);
      spec.fill = " ";
      return out_.append(pad(render_, shown, spec, spec.align == '<' ? '<' : '>'));
    }
    if (value.is(Kind::undefined)) throw Fault(value.text().text);
    if (!value.is_number())
      throw Fault(std::string("%") + type + " format: a real number is required, not " + type_name(value));
    spec.type = type;
    if (std::string_view("diuxXo").find(type) != std::string_view::npos) {
      Value whole = value;
      if (value.is(Kind::floating)) {
        if (type == 'x' || type == 'X' || type == 'o')
          throw Fault(std::string("%") + type + " format: an integer is required, not float");
        if (!std::isfinite(value.as_double())) throw Fault("cannot convert float to integer");
        char digits[400];
        std::snprintf(digits, sizeof digits, "%.0f", std::trunc(value.as_double()));
        whole = Value::decimal(digits);
      }
      if (type == 'i' || type == 'u') spec.type = 'd';
      const int64_t least = std::exchange(spec.precision, -1);
      const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : 10;
      std::string digits = integer_digits(whole, base, type == 'X');
      if (least > static_cast<int64_t>(digits.size()))
        digits.insert(0, static_cast<size_t>(least) - digits.size(), '0');
      const std::string prefix = spec.alternate && base != 10 ? std::string("0") + type : "";
      return out_.append(finish_number(render_, whole, prefix, digits, spec));
    }
    if (std::string_view("eEfFgGc").find(type) == std::string_view::npos)
      throw Fault("unsupported format character '" + std::string(1, type) + "' at index " +
                  std::to_string(at + 1));
    out_.append(format_spec(render_, value, rebuild(spec)));
  }

  static std::string rebuild(const Spec& spec) {
    std::string text = spec.align ? spec.fill + spec.align : "";
    if (spec.sign != '-') text += spec.sign;
    if (spec.alternate) text += '#';
    if (spec.width > 0) text += std::to_string(spec.width);
    if (spec.precision >= 0) text += "." + std::to_string(spec.precision);
    return text + spec.type;
  }

  Render& render_;
  const Text& format_;
  const Value& arguments_;
  Text out_;
  size_t used_ = 0;
  bool named_ = false;
};

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
    const auto index = static_cast<size_t>(number ? read_number(first, from) : automatic);
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
    if (out.text.size() > max_text_bytes) throw Fault("a text grows past 64 MiB");
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

Text format_percent(Render& render, const Text& format, const Value& arguments) {
  return Percent(render, format, arguments).run();
}

Text format_braces(Render& render, const Text& format, const Arguments& arguments) {
  int64_t automatic = 0;
  return braces(render, format, arguments, automatic, 2);
}

}  // namespace lockstep::engine::language
