#include "ipc/fields.h"

#include <cmath>
#include <limits>

namespace lockstep::ipc {

namespace {

using Kind = JsonValue::Kind;

// More than any object of the protocol has; bounds the search for names given twice.
constexpr size_t most_members = 64;

}  // namespace

Fields::Fields(JsonValue object, std::string path) : path_(std::move(path)) {
  if (object.kind() != Kind::object) throw FieldError(path_, "must be an object");
  object.each_member([&](const std::string& name, JsonValue value) {
    for (const Member& other : members_)
      if (other.name == name) fail(name, "is given twice");
    if (members_.size() == most_members) fail(name, "is one member too many");
    members_.push_back({name, value});
  });
}

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Fields::fail(std::string_view name, const std::string& what) const {
  throw FieldError(path_of(name), what);
}

void Fields::refuse_others() const {
  for (const Member& member : members_)
    if (!member.asked) fail(member.name, "is not known here");
}

std::optional<JsonValue> Fields::find(std::string_view name) {
  for (Member& member : members_) {
    if (member.name != name) continue;
    member.asked = true;
    if (member.value.kind() != Kind::null) return member.value;
  }
  return std::nullopt;
}

std::optional<JsonValue> Fields::find(std::string_view name, Kind kind, const char* expected) {
  const auto value = find(name);
  if (value && value->kind() != kind) fail(name, std::string("must be ") + expected);
  return value;
}

std::optional<std::string> Fields::text(std::string_view name) {
  const auto value = find(name, Kind::string, "a string");
  if (!value) return std::nullopt;
  return value->string();
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const auto value = find(name, Kind::boolean, "true or false");
  if (!value) return std::nullopt;
  return value->is_true();
}

std::optional<int> Fields::integer(std::string_view name) {
  const auto value = long_integer(name);
  if (!value) return std::nullopt;
  if (*value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max())
    fail(name, "must fit in 32 bits");
  return static_cast<int>(*value);
}

std::optional<int64_t> Fields::long_integer(std::string_view name) {
  const auto value = find(name, Kind::number, "a whole number");
  if (!value) return std::nullopt;
  const auto number = value->integer();
  if (!number) fail(name, "must be a whole number");
  return number;
}

std::optional<uint64_t> Fields::unsigned_integer(std::string_view name) {
  const auto value = find(name, Kind::number, "a whole number");
  if (!value) return std::nullopt;
  const auto number = value->unsigned_integer();
  if (!number) fail(name, "must be a whole number from 0 to 2^64 - 1");
  return number;
}

std::optional<double> Fields::number(std::string_view name) {
  const auto value = find(name, Kind::number, "a number");
  if (!value) return std::nullopt;
  const double number = value->number();
  if (!std::isfinite(number)) fail(name, "must be a finite number");
  return number;
}

std::optional<JsonValue> Fields::object(std::string_view name) {
  return find(name, Kind::object, "an object");
}

std::optional<std::vector<JsonValue>> Fields::array(std::string_view name) {
  const auto value = find(name, Kind::array, "an array");
  if (!value) return std::nullopt;
  std::vector<JsonValue> elements;
  value->each_element([&](JsonValue element) { elements.push_back(element); });
  return elements;
}

std::string text_of(JsonValue value, const std::string& path) {
  if (value.kind() != Kind::string) throw FieldError(path, "must be a string");
  return value.string();
}

std::string element_path(std::string_view array, size_t index) {
  return std::string(array) + "[" + std::to_string(index) + "]";
}

}  // namespace lockstep::ipc
