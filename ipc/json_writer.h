// Writes JSON text, values one after the other; commas and colons are put where they belong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep::ipc {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);  // in an object, before each value

  // Bytes that are not UTF-8 become U+FFFD, one for each such byte.
  JsonWriter& text(std::string_view value);
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& integer(int64_t value);
  JsonWriter& unsigned_integer(uint64_t value);
  JsonWriter& real(double value);          // shortest text that reads back as the same; not finite: null
  JsonWriter& raw(std::string_view json);  // JSON text that is known to be whole

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string out_;
  bool first_ = true;  // no comma before the next value
};

}  // namespace lockstep::ipc
