// Types of tools' parameters, and the JSON value of a parameter's text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/language/value.h"

namespace lockstep::engine {

// What a JSON Schema lets a parameter be, as far as reading its text needs it.
struct ParameterTypes {
  bool declared = false;        // the tool names the parameter
  std::set<std::string> names;  // "string", "integer", ...; empty: anything
};

// JSON Schema's name of what a value is; of whole numbers "integer".
std::string type_of(const language::Value& value);

class ToolSchemas {
 public:
  // Texts that describe no function are left out.
  explicit ToolSchemas(const std::vector<std::string>& tools);
  bool empty() const { return functions_.empty(); }
  ParameterTypes types(const std::string& function, const std::string& parameter) const;

 private:
  std::map<std::string, std::map<std::string, ParameterTypes>> functions_;
};

// A text becomes a number, boolean, null, array or object if it is written as one and the types allow it,
// else it stays a string. true, false and null may be capitalised, or None. A parameter that may only be a
// string, and one that the tool does not declare, is never anything else.
language::Value typed_value(std::string_view text, const ParameterTypes& types, language::Meter& meter);

}  // namespace lockstep::engine
