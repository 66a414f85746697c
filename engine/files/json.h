// JSON of checkpoints, read strictly: no key twice in an object, numbers in their ranges, and every complaint
// names the file and the key.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::engine {

// Owns the text of one document and what was parsed from it.
class JsonDocument {
 public:
  // `where` names the document in errors. Nested deeper than `depth`, or not JSON: CheckpointError.
  JsonDocument(std::string text, std::string where, size_t depth = 16);
  JsonDocument(const JsonDocument&) = delete;  // elements point into the parser

  const std::string& where() const { return where_; }
  simdjson::dom::element root() const { return root_; }

 private:
  std::string where_;
  std::string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

// "a number", "an object", ...: for errors.
std::string kind(simdjson::dom::element value);

// An object whose keys are unique. Lives no longer than its document. A value of null counts as missing.
class JsonObject {
 public:
  using Value = simdjson::dom::element;

  JsonObject(Value value, std::string where);  // `where`: how errors name the object

  const std::string& where() const { return where_; }
  const std::vector<std::pair<std::string_view, Value>>& fields() const { return fields_; }
  std::string name(std::string_view key) const;  // where, then the key; in quotes unless it is a plain word

  std::optional<Value> find(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key, int64_t least, int64_t most) const;
  std::optional<double> number(std::string_view key, double least, double most) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  std::optional<JsonObject> object(std::string_view key) const;

  // The same for keys that must be there.
  int needed_integer(std::string_view key, int64_t least, int64_t most) const;

 private:
  std::string where_;
  std::vector<std::pair<std::string_view, Value>> fields_;  // in order of key
};

}  // namespace lockstep::engine
