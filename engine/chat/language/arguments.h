// Arguments of a call, and how a built-in function takes them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/chat/language/value.h"

namespace lockstep::engine::language {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value* find(std::string_view name) const {
    for (const auto& [key, value] : named)
      if (key == name) return &value;
    return nullptr;
  }
};

// Parameters by position or name. Fault for too many, unknown or doubled arguments.
class Parameters {
 public:
  Parameters(const char* function, const Arguments& arguments, std::initializer_list<const char*> names);

  const Value* operator[](size_t i) const { return given_[i]; }  // null: not given
  const Value* unless_none(size_t i) const;                      // null: not given or None
  const Value& need(size_t i) const;                             // Fault: missing
  bool flag(size_t i, bool otherwise) const { return given_[i] ? truth(*given_[i]) : otherwise; }
  int64_t integer(size_t i, int64_t otherwise) const;  // Fault: no integer
  const Text& text(size_t i) const;                    // Fault: missing or no string

 private:
  const char* function_;
  std::vector<const char*> names_;
  std::vector<const Value*> given_;
};

int64_t need_integer(const Value& value);  // as an index: integers and booleans of 64 bits

}  // namespace lockstep::engine::language
