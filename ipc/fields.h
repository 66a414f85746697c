// The members of a JSON object by name and type. A member that is null counts as not given.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ipc/json_reader.h"

namespace lockstep::ipc {

// A member that is missing, unknown, given twice or of the wrong type.
struct FieldError : std::runtime_error {
  std::string path;  // "messages[2].role"
  FieldError(std::string p, const std::string& what) : std::runtime_error(what), path(std::move(p)) {}
};

class Fields {
 public:
  // `path` of the object: empty, or "messages[2]". Throws FieldError when it is no object.
  Fields(JsonValue object, std::string path);

  // Nothing when not given; FieldError when of another type.
  std::optional<std::string> text(std::string_view name);
  std::optional<bool> boolean(std::string_view name);
  std::optional<int> integer(std::string_view name);
  std::optional<int64_t> long_integer(std::string_view name);
  std::optional<uint64_t> unsigned_integer(std::string_view name);
  std::optional<double> number(std::string_view name);  // finite
  std::optional<JsonValue> object(std::string_view name);
  std::optional<std::vector<JsonValue>> array(std::string_view name);

  std::string path_of(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, const std::string& what) const;

  // Throws FieldError when a member was given that none of the calls above asked for.
  void refuse_others() const;

 private:
  struct Member {
    std::string name;
    JsonValue value;
    bool asked = false;
  };
  std::optional<JsonValue> find(std::string_view name);
  std::optional<JsonValue> find(std::string_view name, JsonValue::Kind kind, const char* expected);

  std::string path_;
  std::vector<Member> members_;
};

// The text of an array's element. Throws FieldError when it is no string.
std::string text_of(JsonValue value, const std::string& path);

// "messages", 2 -> "messages[2]"
std::string element_path(std::string_view array, size_t index);

}  // namespace lockstep::ipc
