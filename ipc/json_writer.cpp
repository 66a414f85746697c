#include "ipc/json_writer.h"

#include <charconv>
#include <cmath>

#include "ipc/utf8.h"

namespace lockstep::ipc {

namespace {

template <class Number>
std::string number_text(Number value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return std::string(digits, end);
}

void append_escaped(std::string& out, unsigned char c) {
  static constexpr char hex[] = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default:
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
  }
}

}  // namespace

void JsonWriter::separate() {
  if (!first_) out_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  text(name);
  out_ += ':';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  out_ += '"';
  size_t at = 0;
  while (at < value.size()) {
    const auto c = static_cast<unsigned char>(value[at]);
    if (c < 0x20 || c == '"' || c == '\\') {
      append_escaped(out_, c);
      ++at;
    } else if (const size_t length = utf8_length(value.substr(at)); length > 0) {
      out_.append(value, at, length);
      at += length;
    } else {
      out_ += "\xEF\xBF\xBD";
      ++at;
    }
  }
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::integer(int64_t value) { return raw(number_text(value)); }
JsonWriter& JsonWriter::unsigned_integer(uint64_t value) { return raw(number_text(value)); }
JsonWriter& JsonWriter::real(double value) { return raw(std::isfinite(value) ? number_text(value) : "null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace lockstep::ipc
