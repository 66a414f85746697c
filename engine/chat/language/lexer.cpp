#include "engine/chat/language/lexer.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>

#include "engine/chat/language/text.h"
#include "engine/tokenizer/characters.h"

namespace lockstep::engine::language {

TemplateError error_at(int line, const std::string& message) {
  return TemplateError("chat template, line " + std::to_string(line) + ": " + message);
}

namespace {

// \r\n and \r become \n; one line end at the very end goes away.
std::string normalize(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      text += '\n';
    } else {
      text += source[i];
    }
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalize(source)), text_(source_) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) root();
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  bool here(std::string_view what, size_t at) const { return text_.substr(at, what.size()) == what; }
  void advance(size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }
  size_t skip_space(size_t at) const {
    while (at < text_.size()) {
      size_t next = at;
      if (!is_space(decode(text_, next))) break;
      at = next;
    }
    return at;
  }

  // Text up to a tag at `tag` whose sign stands at `sign`; `variable` tags keep the blanks before them.
  void data(size_t tag, size_t sign, bool variable) {
    std::string_view part = text_.substr(at_, tag - at_);
    const char mark = sign < text_.size() ? text_[sign] : ' ';
    if (mark == '-') {
      part = part.substr(0, strip_range(part, Side::right).second);
    } else if (mark != '+' && !variable) {
      const size_t newline = part.rfind('\n');
      const size_t from = newline == std::string_view::npos ? 0 : newline + 1;
      if ((from > 0 || line_start_) && from < part.size()) {
        const std::string_view blank = part.substr(from);
        if (strip_range(blank, Side::left).first == blank.size()) part = part.substr(0, from);
      }
    }
    if (!part.empty()) add(TokenKind::data, std::string(part));
    advance(tag);
  }

  size_t after_sign(size_t at) const {
    return at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? at + 1 : at;
  }

  // Behind "%}" or "#}" at `end`, where '-' takes all following whitespace and nothing one line end.
  size_t behind(size_t end, char sign) const {
    if (sign == '-') return skip_space(end);
    return sign != '+' && end < text_.size() && text_[end] == '\n' ? end + 1 : end;
  }

  void root() {
    size_t tag = at_;
    while (tag < text_.size() && !(text_[tag] == '{' && tag + 1 < text_.size() &&
                                   (text_[tag + 1] == '{' || text_[tag + 1] == '%' || text_[tag + 1] == '#')))
      ++tag;
    if (tag >= text_.size()) {
      add(TokenKind::data, std::string(text_.substr(at_)));
      advance(text_.size());
      return;
    }
    const char kind = text_[tag + 1];
    data(tag, tag + 2, kind == '{');
    if (kind == '%' && raw(tag)) return;
    if (kind == '#') return comment(after_sign(tag + 2));
    add(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
    advance(after_sign(tag + 2));
    line_start_ = false;
    code(kind == '{');
  }

  void comment(size_t from) {
    const size_t end = text_.find("#}", from);
    if (end == std::string_view::npos) throw error_at(line_, "missing end of comment");
    const char sign = end > from ? text_[end - 1] : ' ';
    finish(behind(end + 2, sign));
  }

  void finish(size_t to) {
    advance(to);
    line_start_ = to > 0 && text_[to - 1] == '\n';
  }

  bool raw(size_t tag) {
    size_t at = skip_space(after_sign(tag + 2));
    if (!here("raw", at)) return false;
    at = skip_space(at + 3);
    if (here("-%}", at))
      at = skip_space(at + 3);
    else if (here("%}", at))
      at += 2;
    else
      return false;
    finish(at);
    for (size_t end = text_.find("{%", at_); end != std::string_view::npos; end = text_.find("{%", end + 1)) {
      size_t close = skip_space(after_sign(end + 2));
      if (!here("endraw", close)) continue;
      close = skip_space(close + 6);
      const char sign = close < text_.size() ? text_[close] : ' ';
      if (sign == '-' || sign == '+') ++close;
      if (!here("%}", close)) continue;
      data(end, end + 2, false);
      finish(behind(close + 2, sign));
      return true;
    }
    throw error_at(line_, "missing end of raw block");
  }

  // Tokens inside {{ }} or {% %}.
  void code(bool variable) {
    std::string open;  // brackets to be closed
    const std::string_view close = variable ? "}}" : "%}";
    while (at_ < text_.size()) {
      if (open.empty()) {
        const char sign = text_[at_];
        const bool signed_end = (sign == '-' || (sign == '+' && !variable)) && here(close, at_ + 1);
        if (signed_end || here(close, at_)) {
          const size_t end = at_ + (signed_end ? 3 : 2);
          add(variable ? TokenKind::variable_end : TokenKind::block_end, "");
          if (variable)
            finish(signed_end ? skip_space(end) : end);
          else
            finish(behind(end, signed_end ? sign : ' '));
          return;
        }
      }
      const size_t space = skip_space(at_);
      if (space > at_) {
        advance(space);
        continue;
      }
      token(open);
    }
  }

  void token(std::string& open) {
    const char c = text_[at_];
    if (digit(c)) return number();
    if (c == '\'' || c == '"') return string(c);
    size_t end = at_;
    while (end < text_.size()) {
      size_t next = end;
      const auto character = static_cast<UChar32>(decode(text_, next));
      if (character != '_' && !u_hasBinaryProperty(character, UCHAR_XID_CONTINUE)) break;
      end = next;
    }
    if (end > at_) {
      add(TokenKind::name, std::string(text_.substr(at_, end - at_)));
      return advance(end);
    }
    op(open);
  }

  // Digits with single underscores between them.
  size_t digits(size_t at) const {
    while (at < text_.size() &&
           (digit(text_[at]) || (text_[at] == '_' && at + 1 < text_.size() && digit(text_[at + 1]))))
      ++at;
    return at;
  }

  void number() {
    const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';
    size_t end = digits(at_);
    bool floating = false;
    if (!after_dot) {
      size_t at = end;
      if (at + 1 < text_.size() && text_[at] == '.' && digit(text_[at + 1])) {
        at = end = digits(at + 1);
        floating = true;
      }
      if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
        size_t power = at + 1;
        if (power < text_.size() && (text_[power] == '+' || text_[power] == '-')) ++power;
        if (power < text_.size() && digit(text_[power])) {
          end = digits(power);
          floating = true;
        }
      }
    }
    if (!floating && text_[at_] == '0') return zero();
    std::string value(text_.substr(at_, end - at_));
    value.erase(std::remove(value.begin(), value.end(), '_'), value.end());
    add(floating ? TokenKind::floating : TokenKind::integer, value);
    advance(end);
  }

  // 0, 00, 0x1F, 0b1, 0o7.
  void zero() {
    const char base = at_ + 1 < text_.size() ? static_cast<char>(text_[at_ + 1] | 0x20) : ' ';
    const int radix = base == 'x' ? 16 : base == 'o' ? 8 : base == 'b' ? 2 : 0;
    const auto value_of = [](char c) {
      return digit(c) ? c - '0' : (c | 0x20) >= 'a' ? (c | 0x20) - 'a' + 10 : 99;
    };
    size_t end = at_ + 1;
    uint64_t value = 0;
    if (radix > 0) {
      size_t at = at_ + 2;
      while (at < text_.size() &&
             (value_of(text_[at]) < radix ||
              (text_[at] == '_' && at + 1 < text_.size() && value_of(text_[at + 1]) < radix))) {
        if (text_[at] != '_')
          value = value * static_cast<uint64_t>(radix) + static_cast<uint64_t>(value_of(text_[at]));
        if (value >> 59) throw error_at(line_, "a number is too large");
        end = ++at;
      }
    }
    if (end == at_ + 1)
      while (end < text_.size() && text_[end] == '0') ++end;
    add(TokenKind::integer, std::to_string(value));
    advance(end);
  }

  void string(char quote) {
    std::string value;
    size_t at = at_ + 1;
    while (at < text_.size() && text_[at] != quote) {
      if (text_[at] != '\\') {
        value += text_[at++];
        continue;
      }
      if (at + 1 >= text_.size()) break;
      at = escape(at + 1, value);
    }
    if (at >= text_.size()) throw error_at(line_, "a string is not closed");
    add(TokenKind::string, value);
    advance(at + 1);
  }

  size_t escape(size_t at, std::string& value) {
    static constexpr std::string_view letters = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = text_[at];
    if (c == '\n') return at + 1;
    if (const size_t found = letters.find(c); found != std::string_view::npos) {
      value += meanings[found];
      return at + 1;
    }
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      size_t end = at;
      while (end < text_.size() && end < at + 3 && text_[end] >= '0' && text_[end] <= '7')
        code = code * 8 + static_cast<char32_t>(text_[end++] - '0');
      append_utf8(code, value);
      return end;
    }
    const size_t width = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == 'N') throw error_at(line_, "\\N{...} in a string is not supported; write the character itself");
    if (width == 0) {
      value += '\\';
      return at;
    }
    char32_t code = hex(at + 1, width);
    size_t end = at + 1 + width;
    if (code >= 0xD800 && code < 0xDC00 && here("\\u", end)) {  // a pair of surrogates
      const char32_t low = hex(end + 2, 4);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        end += 6;
      }
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      throw error_at(line_, "a string escapes what is no character");
    append_utf8(code, value);
    return end;
  }

  char32_t hex(size_t at, size_t width) const {
    char32_t code = 0;
    for (size_t i = at; i < at + width; ++i) {
      const char c = i < text_.size() ? text_[i] : ' ';
      const char small = static_cast<char>(c | 0x20);
      if (digit(c))
        code = code * 16 + static_cast<char32_t>(c - '0');
      else if (small >= 'a' && small <= 'f')
        code = code * 16 + static_cast<char32_t>(small - 'a' + 10);
      else
        throw error_at(line_, "a string has a truncated escape");
    }
    return code;
  }

  void op(std::string& open) {
    static constexpr std::array<std::string_view, 26> operators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto found =
        std::find_if(operators.begin(), operators.end(), [&](std::string_view o) { return here(o, at_); });
    if (found == operators.end()) {
      const size_t next = next_character(text_, at_);
      throw error_at(line_, "unexpected character '" + std::string(text_.substr(at_, next - at_)) + "'");
    }
    const char c = (*found)[0];
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) throw error_at(line_, std::string("unexpected '") + c + "'");
      open.pop_back();
    }
    add(TokenKind::op, std::string(*found));
    advance(at_ + found->size());
  }

  std::string source_;
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_start_ = true;  // the tag before ended a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace lockstep::engine::language
