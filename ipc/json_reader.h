// Reads JSON (RFC 8259) strictly: parse() checks the whole text first, so a JsonValue is always whole and
// well formed. Values are pieces of the checked text: they live as long as it does, and text() gives back
// exactly what was written (the spelling of numbers, the order of members).
//
// The room has its own reader, beside the simdjson of others, because tool descriptions must reach the model
// as they were written (integers beyond 64 bits included) and the client should start without a library.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep::ipc {

inline constexpr int most_values = 200'000;  // in a call; bounds what reading it can take up

struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class JsonValue {
 public:
  enum class Kind { null, boolean, number, string, array, object };

  // The one value that `text` is. Throws JsonError (what is wrong, at which byte) for anything that is not
  // JSON in UTF-8, a lone surrogate escape, nesting deeper than `depth`, and more than `values` values.
  static JsonValue parse(std::string_view text, int depth, int values = most_values);

  Kind kind() const;
  std::string_view text() const { return text_; }

  // Of the kind's own values only.
  bool is_true() const { return text_ == "true"; }
  std::string string() const;
  double number() const;  // infinite when it is beyond a double
  // A number written as a whole one (no point, no exponent) that fits; nothing otherwise.
  std::optional<int64_t> integer() const;
  std::optional<uint64_t> unsigned_integer() const;

  // In the order of the text; names may repeat.
  void each_member(const std::function<void(const std::string& name, JsonValue value)>& take) const;
  void each_element(const std::function<void(JsonValue value)>& take) const;

 private:
  explicit JsonValue(std::string_view text) : text_(text) {}
  std::string_view text_;
};

}  // namespace lockstep::ipc
