#include "engine/chat/tool_schema.h"

#include <cmath>

#include "engine/chat/language/json.h"

namespace lockstep::engine {
namespace {

using language::Dict;
using language::Fault;
using language::Kind;
using language::Meter;
using language::Text;
using language::Value;

constexpr int schema_depth = 16;  // references and alternatives inside each other

const Value* member(const Value& value, std::string_view key) {
  return value.is(Kind::mapping) ? value.dict().find(key) : nullptr;
}

// "#/$defs/Name" inside the tool's parameters.
const Value* follow(const Value& root, std::string_view reference) {
  if (reference.substr(0, 2) != "#/") return nullptr;
  reference.remove_prefix(2);
  const Value* at = &root;
  while (at && !reference.empty()) {
    const size_t slash = reference.find('/');
    at = member(*at, reference.substr(0, slash));
    reference = slash == std::string_view::npos ? std::string_view() : reference.substr(slash + 1);
  }
  return at;
}

// Adds the types a schema allows; false if it allows any.
bool collect(const Value& schema, const Value& root, std::set<std::string>& names, int depth) {
  if (depth > schema_depth || !schema.is(Kind::mapping)) return false;
  if (const Value* type = member(schema, "type")) {
    if (type->is(Kind::string)) names.insert(type->text().text);
    if (type->is(Kind::list))
      for (const Value& one : type->items())
        if (one.is(Kind::string)) names.insert(one.text().text);
    return true;
  }
  if (const Value* reference = member(schema, "$ref"); reference && reference->is(Kind::string)) {
    const Value* target = follow(root, reference->text().text);
    return target && collect(*target, root, names, depth + 1);
  }
  if (const Value* constant = member(schema, "const")) {
    names.insert(type_of(*constant));
    return true;
  }
  if (const Value* choices = member(schema, "enum"); choices && choices->is(Kind::list)) {
    for (const Value& choice : choices->items()) names.insert(type_of(choice));
    return true;
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    const Value* alternatives = member(schema, key);
    if (!alternatives || !alternatives->is(Kind::list)) continue;
    bool all = true;
    for (const Value& alternative : alternatives->items())
      all = collect(alternative, root, names, depth + 1) && all;
    return all;
  }
  if (const Value* parts = member(schema, "allOf"); parts && parts->is(Kind::list))
    for (const Value& part : parts->items())
      if (std::set<std::string> some; collect(part, root, some, depth + 1)) {
        names.insert(some.begin(), some.end());
        return true;
      }
  return false;
}

}  // namespace

std::string type_of(const Value& value) {
  if (value.is(Kind::none)) return "null";
  if (value.is(Kind::boolean)) return "boolean";
  if (value.is_integer()) return "integer";
  if (value.is(Kind::floating)) return "number";
  if (value.is(Kind::string)) return "string";
  return value.is(Kind::list) ? "array" : "object";
}

ToolSchemas::ToolSchemas(const std::vector<std::string>& tools) {
  for (const std::string& text : tools) {
    Value tool;
    try {
      Meter meter;
      tool = language::parse_json(text, meter);
    } catch (const Fault&) {
      continue;  // the template has refused it already
    }
    const Value* function = member(tool, "function");
    if (!function) function = &tool;
    const Value* name = member(*function, "name");
    if (!name || !name->is(Kind::string)) continue;
    auto& parameters = functions_[name->text().text];
    const Value* root = member(*function, "parameters");
    const Value* properties = root ? member(*root, "properties") : nullptr;
    if (!properties || !properties->is(Kind::mapping)) continue;
    for (const auto& [key, schema] : properties->dict().entries()) {
      ParameterTypes types;
      types.declared = true;
      if (!collect(schema, *root, types.names, 0)) types.names.clear();
      parameters[key.text().text] = std::move(types);
    }
  }
}

ParameterTypes ToolSchemas::types(const std::string& function, const std::string& parameter) const {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return {};
  const auto types = found->second.find(parameter);
  return types == found->second.end() ? ParameterTypes{} : types->second;
}

Value typed_value(std::string_view text, const ParameterTypes& types, Meter& meter) {
  const Value string = Value::string(Text(text, true));
  const auto allows = [&](const char* name) { return types.names.empty() || types.names.count(name) > 0; };
  if (!types.declared) return string;
  const auto [first, last] = language::strip_range(text, language::Side::both);
  const std::string_view bare = text.substr(first, last - first);
  if (allows("boolean") && (bare == "true" || bare == "True")) return Value::boolean(true);
  if (allows("boolean") && (bare == "false" || bare == "False")) return Value::boolean(false);
  if (allows("null") && (bare == "null" || bare == "Null" || bare == "None")) return Value::none();
  Value value;
  try {
    value = language::parse_json(bare, meter);
  } catch (const Fault&) {
    return string;
  }
  if (value.is(Kind::floating) && !std::isfinite(value.as_double())) return string;
  if (value.is_integer()) return allows("integer") || allows("number") ? value : string;
  if (value.is(Kind::floating)) {
    if (allows("number")) return value;
    // A whole number written with a point.
    const double number = value.as_double();
    if (allows("integer") && std::trunc(number) == number && std::fabs(number) < 9e15)
      return Value::integer(static_cast<int64_t>(number));
    return string;
  }
  if (value.is(Kind::list) && allows("array")) return value;
  return value.is(Kind::mapping) && allows("object") ? value : string;
}

}  // namespace lockstep::engine
