#include "ipc/json_reader.h"

#include <charconv>
#include <cstdlib>

#include "ipc/utf8.h"

namespace lockstep::ipc {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four digits after \u, or -1.
int hex_code(std::string_view text, size_t at) {
  if (text.size() - at < 4) return -1;
  int code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

// Walks one value and refuses what is not JSON.
class Checker {
 public:
  Checker(std::string_view text, int depth, int values) : text_(text), most_depth_(depth), most_(values) {}

  std::string_view whole() {
    skip_blanks();
    const size_t begin = at_;
    value(0);
    const size_t end = at_;
    skip_blanks();
    if (at_ < text_.size()) fail("something follows the value");
    return text_.substr(begin, end - begin);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw JsonError("not valid JSON: " + what + " at byte " + std::to_string(at_));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) fail("a value is expected");
    at_ += expected.size();
  }

  void value(int depth) {
    if (at_ >= text_.size()) fail("the text ends early");
    if (++values_ > most_) fail("more than " + std::to_string(most_) + " values");
    switch (text_[at_]) {
      case '{': members(depth + 1); return;
      case '[': elements(depth + 1); return;
      case '"': string(); return;
      case 't': word("true"); return;
      case 'f': word("false"); return;
      case 'n': word("null"); return;
      default: number();
    }
  }

  void enter(int depth) {
    if (depth > most_depth_) fail("more than " + std::to_string(most_depth_) + " levels of nesting");
    ++at_;
    skip_blanks();
  }

  void members(int depth) {
    enter(depth);
    if (take('}')) return;
    while (true) {
      if (peek() != '"') fail("a name in quotes is expected");
      string();
      skip_blanks();
      if (!take(':')) fail("a colon is expected");
      skip_blanks();
      value(depth);
      skip_blanks();
      if (take('}')) return;
      if (!take(',')) fail("a comma or } is expected");
      skip_blanks();
    }
  }

  void elements(int depth) {
    enter(depth);
    if (take(']')) return;
    while (true) {
      value(depth);
      skip_blanks();
      if (take(']')) return;
      if (!take(',')) fail("a comma or ] is expected");
      skip_blanks();
    }
  }

  void string() {
    ++at_;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return;
      }
      if (c == '\\') {
        escape();
      } else if (c < 0x20) {
        fail("a control character inside a string");
      } else if (c < 0x80) {
        ++at_;
      } else if (const size_t length = utf8_length(text_.substr(at_, 4)); length > 0) {
        at_ += length;
      } else {
        fail("a byte that is not UTF-8");
      }
    }
    fail("a string without end");
  }

  void escape() {
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (c != 'u') {
      if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos)
        fail("an unknown escape");
      at_ += 2;
      return;
    }
    const int code = hex_code(text_, at_ + 2);
    if (code < 0) fail("an escape without four hex digits");
    if (code >= 0xDC00 && code <= 0xDFFF) fail("half a surrogate pair");
    if (code >= 0xD800 && code <= 0xDBFF) {
      const bool pair = text_.substr(at_ + 6, 2) == "\\u";
      const int low = pair ? hex_code(text_, at_ + 8) : -1;
      if (low < 0xDC00 || low > 0xDFFF) fail("half a surrogate pair");
      at_ += 12;
    } else {
      at_ += 6;
    }
  }

  void digits() {
    if (!is_digit(peek())) fail("a value is expected");
    while (is_digit(peek())) ++at_;
  }

  void number() {
    take('-');
    if (!take('0')) digits();
    if (take('.')) digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits();
    }
  }

  std::string_view text_;
  int most_depth_, most_;
  size_t at_ = 0;
  int values_ = 0;
};

// The functions below walk text that has been checked.

// A quote ends the string unless an odd number of backslashes is before it.
size_t skip_string(std::string_view text, size_t at) {
  while (true) {
    at = text.find('"', at + 1);
    size_t slashes = 0;
    while (text[at - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return at + 1;
  }
}

size_t skip_value(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_blank(c))) return at;
    if (c == '{' || c == '[') ++depth;
    ++at;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return at;
}

size_t skip_separators(std::string_view text, size_t at) {
  while (is_blank(text[at]) || text[at] == ',' || text[at] == ':') ++at;
  return at;
}

// `escaped` is what stands between the quotes.
std::string unescape(std::string_view escaped) {
  static constexpr std::string_view letters = "bfnrt", meanings = "\b\f\n\r\t";
  std::string out;
  out.reserve(escaped.size());
  for (size_t at = 0; at < escaped.size();) {
    const size_t slash = escaped.find('\\', at);
    out.append(escaped, at, slash == std::string_view::npos ? slash : slash - at);
    if (slash == std::string_view::npos) break;
    const char c = escaped[slash + 1];
    at = slash + 2;
    if (c == 'u') {
      auto code = static_cast<uint32_t>(hex_code(escaped, at));
      at += 4;
      if (code >= 0xD800 && code <= 0xDBFF) {
        code =
            0x10000 + ((code - 0xD800) << 10) + (static_cast<uint32_t>(hex_code(escaped, at + 2)) - 0xDC00);
        at += 6;
      }
      append_utf8(out, code);
    } else {
      const size_t letter = letters.find(c);
      out += letter == std::string_view::npos ? c : meanings[letter];
    }
  }
  return out;
}

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

JsonValue JsonValue::parse(std::string_view text, int depth, int values) {
  return JsonValue(Checker(text, depth, values).whole());
}

JsonValue::Kind JsonValue::kind() const {
  switch (text_.front()) {
    case '{': return Kind::object;
    case '[': return Kind::array;
    case '"': return Kind::string;
    case 't':
    case 'f': return Kind::boolean;
    case 'n': return Kind::null;
    default: return Kind::number;
  }
}

std::string JsonValue::string() const { return unescape(text_.substr(1, text_.size() - 2)); }

double JsonValue::number() const {
  double value = 0;
  const auto error = std::from_chars(text_.data(), text_.data() + text_.size(), value).ec;
  if (error != std::errc::result_out_of_range) return value;
  return std::strtod(std::string(text_).c_str(), nullptr);  // tells too small (0) from too large (infinite)
}

std::optional<int64_t> JsonValue::integer() const { return whole_number<int64_t>(text_); }
std::optional<uint64_t> JsonValue::unsigned_integer() const { return whole_number<uint64_t>(text_); }

void JsonValue::each_member(const std::function<void(const std::string& name, JsonValue value)>& take) const {
  size_t at = skip_separators(text_, 1);
  while (text_[at] != '}') {
    const size_t name_end = skip_string(text_, at);
    const std::string name = unescape(text_.substr(at + 1, name_end - at - 2));
    const size_t begin = skip_separators(text_, name_end);
    const size_t end = skip_value(text_, begin);
    take(name, JsonValue(text_.substr(begin, end - begin)));
    at = skip_separators(text_, end);
  }
}

void JsonValue::each_element(const std::function<void(JsonValue value)>& take) const {
  size_t at = skip_separators(text_, 1);
  while (text_[at] != ']') {
    const size_t end = skip_value(text_, at);
    take(JsonValue(text_.substr(at, end - at)));
    at = skip_separators(text_, end);
  }
}

}  // namespace lockstep::ipc
