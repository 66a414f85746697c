// JSON text to values and back, as Python's json module does it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/chat/language/value.h"

namespace lockstep::engine::language {

constexpr int max_json_depth = 128;

// Keys keep their order, the last of equal ones wins; integers keep every digit; all strings are data.
// Fault: no JSON, or nested deeper than max_json_depth.
Value parse_json(std::string_view json, Meter& meter);

struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ", key_separator = ": ";
};
// json.dumps(). Fault for what JSON cannot hold.
Text dump_json(const Value& value, const JsonStyle& style, Meter& meter);

}  // namespace lockstep::engine::language
