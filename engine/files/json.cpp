#include "engine/files/json.h"

#include <algorithm>
#include <new>

#include "engine/files/refuse.h"

namespace lockstep::engine {

namespace dom = simdjson::dom;

JsonDocument::JsonDocument(std::string text, std::string where, size_t depth)
    : where_(std::move(where)), text_(std::move(text)) {
  // The parser reads a few bytes beyond the end, so the text needs room behind it.
  const size_t length = text_.size();
  text_.reserve(length + simdjson::SIMDJSON_PADDING);
  simdjson::error_code error = parser_.allocate(std::max(length, size_t{64}), depth);
  if (!error) error = parser_.parse(text_.data(), length, false).get(root_);
  if (error == simdjson::DEPTH_ERROR)
    refuse(where_, " is nested deeper than ", depth, " levels; copy or download it again");
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error) refuse(where_, " is not valid JSON; copy or download it again");
}

std::string kind(dom::element value) {
  switch (value.type()) {
    case dom::element_type::ARRAY: return "a list";
    case dom::element_type::OBJECT: return "an object";
    case dom::element_type::STRING: return quoted(value.get_string().value_unsafe());
    default: return simdjson::minify(value);
  }
}

JsonObject::JsonObject(Value value, std::string where) : where_(std::move(where)) {
  dom::object object;
  if (value.get_object().get(object)) refuse(where_, " must be an object, not ", kind(value));
  fields_.reserve(object.size());
  for (auto [key, field] : object) fields_.emplace_back(key, field);
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(fields_.begin(), fields_.end(), by_key);
  for (size_t i = 1; i < fields_.size(); i++)
    if (fields_[i].first == fields_[i - 1].first)
      refuse(name(fields_[i].first), " is there twice, as ", kind(fields_[i - 1].second), " and as ",
             kind(fields_[i].second), "; keep one");
}

std::string JsonObject::name(std::string_view key) const {
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  const bool top = where_.ends_with('"');  // a file's or a tensor's name, not a key
  return where_ + (top ? ": " : ".") + (plain && !key.empty() ? std::string(key) : quoted(key));
}

std::optional<JsonObject::Value> JsonObject::find(std::string_view key) const {
  const auto at = std::lower_bound(fields_.begin(), fields_.end(), key,
                                   [](const auto& field, std::string_view k) { return field.first < k; });
  if (at == fields_.end() || at->first != key || at->second.is_null()) return std::nullopt;
  return at->second;
}

std::optional<int64_t> JsonObject::integer(std::string_view key, int64_t least, int64_t most) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  int64_t number = 0;
  if (!value->is_int64() || value->get_int64().get(number) || number < least || number > most)
    refuse(name(key), " must be a whole number from ", least, " to ", most, ", not ", kind(*value));
  return number;
}

std::optional<double> JsonObject::number(std::string_view key, double least, double most) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  double number = 0;
  if (!value->is_number() || value->get_double().get(number) || !(number >= least && number <= most))
    refuse(name(key), " must be a number from ", least, " to ", most, ", not ", kind(*value));
  return number;
}

std::optional<bool> JsonObject::boolean(std::string_view key) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  bool flag = false;
  if (value->get_bool().get(flag)) refuse(name(key), " must be true or false, not ", kind(*value));
  return flag;
}

std::optional<std::string> JsonObject::string(std::string_view key) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  std::string_view text;
  if (value->get_string().get(text)) refuse(name(key), " must be a string, not ", kind(*value));
  return std::string(text);
}

std::optional<JsonObject> JsonObject::object(std::string_view key) const {
  const auto value = find(key);
  if (!value) return std::nullopt;
  return JsonObject(*value, name(key));
}

int JsonObject::needed_integer(std::string_view key, int64_t least, int64_t most) const {
  const auto value = integer(key, least, most);
  if (!value) refuse_missing(name(key));
  return static_cast<int>(*value);
}

}  // namespace lockstep::engine
