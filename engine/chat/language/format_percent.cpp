// "%s" % arguments, by Python's rules.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/chat/language/builtins.h"
#include "engine/chat/language/format_spec.h"

namespace lockstep::engine::language {
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
      check_text_bytes(out_.text.size());
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
    FormatSpec spec;
    bool zero = false;
    for (; at < text.size() && std::string_view("#0- +").find(text[at]) != std::string_view::npos; ++at) {
      if (text[at] == '-') spec.align = '<';
      if (text[at] == '0') zero = true;
      if (text[at] == '#') spec.alternate = true;
      if (text[at] == '+' || (text[at] == ' ' && spec.sign != '+')) spec.sign = text[at];
    }
    spec.width = star(at) ? starred() : read_format_number(text, at);
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (at < text.size() && text[at] == '.') {
      ++at;
      spec.precision = star(at) ? std::max<int64_t>(starred(), 0) : read_format_number(text, at);
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
  int64_t starred() {
    const int64_t number = need_integer(next());
    if (number > widest_format || number < -widest_format)
      throw Fault("a width or precision of a format is too large");
    return number;
  }

  void convert(const Value& value, FormatSpec spec, char type, size_t at) {
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

  static std::string rebuild(const FormatSpec& spec) {
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

}  // namespace

Text format_percent(Render& render, const Text& format, const Value& arguments) {
  return Percent(render, format, arguments).run();
}

}  // namespace lockstep::engine::language
