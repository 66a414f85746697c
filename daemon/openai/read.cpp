#include "daemon/openai/read.h"

#include <charconv>
#include <cmath>

#include "daemon/openai/error.h"

namespace lockstep::daemon::openai {
namespace {

std::string plain(double number) { return json::write(json::Value(number)); }

[[noreturn]] void refuse_range(const json::Number& number, const std::string& param, const std::string& kind,
                               const std::string& low, const std::string& high) {
  std::string given = number.text;
  if (given.size() > 40) given = given.substr(0, 40) + "…";
  throw invalid("'" + param + "' must be " + kind + " from " + low + " to " + high + ", not " + given, param);
}

}  // namespace

void refuse_kind(const json::Value& value, const std::string& param, std::string_view wanted) {
  throw invalid(
      "'" + param + "' must be " + std::string(wanted) + ", not " + std::string(json::kind_name(value)),
      param);
}

const json::Value* present(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value && !value->is_null() ? value : nullptr;
}

const json::Value& required(const json::Value& object, std::string_view key, const std::string& at) {
  const std::string param = (at.empty() ? "" : at + ".") + std::string(key);
  const json::Value* value = object.find(key);
  if (!value) throw invalid("'" + param + "' is missing", param);
  return *value;
}

bool read_bool(const json::Value& value, const std::string& param) {
  if (const bool* truth = value.boolean()) return *truth;
  refuse_kind(value, param, "true or false");
}

const std::string& read_string(const json::Value& value, const std::string& param) {
  if (const std::string* text = value.string()) return *text;
  refuse_kind(value, param, "a string");
}

const json::Array& read_array(const json::Value& value, const std::string& param) {
  if (const json::Array* items = value.array()) return *items;
  refuse_kind(value, param, "an array");
}

const json::Object& read_object(const json::Value& value, const std::string& param) {
  if (const json::Object* members = value.object()) return *members;
  refuse_kind(value, param, "an object");
}

float read_number(const json::Value& value, const std::string& param, double low, double high) {
  const json::Number* number = value.number();
  if (!number) refuse_kind(value, param, "a number from " + plain(low) + " to " + plain(high));
  const std::string& text = number->text;
  double parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  // A number too small for a double is as good as 0; one too large is in no range.
  const bool tiny =
      error == std::errc::result_out_of_range && std::fabs(std::strtod(text.c_str(), nullptr)) < 1;
  if (tiny) parsed = 0;
  const bool read = (error == std::errc() || tiny) && end == text.data() + text.size();
  if (!read || !(parsed >= low && parsed <= high))
    refuse_range(*number, param, "a number", plain(low), plain(high));
  return static_cast<float>(parsed);
}

uint64_t read_integer(const json::Value& value, const std::string& param, uint64_t low, uint64_t high) {
  const std::string range = std::to_string(low) + " to " + std::to_string(high);
  const json::Number* number = value.number();
  if (!number) refuse_kind(value, param, "an integer from " + range);
  const std::string& text = number->text;
  uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || parsed < low || parsed > high)
    refuse_range(*number, param, "an integer", std::to_string(low), std::to_string(high));
  return parsed;
}

std::vector<int32_t> read_tokens(const json::Value& value, const std::string& param) {
  std::vector<int32_t> tokens;
  for (const json::Value& item : read_array(value, param))
    tokens.push_back(static_cast<int32_t>(
        read_integer(item, param + "[" + std::to_string(tokens.size()) + "]", 0, 0x7fffffff)));
  return tokens;
}

}  // namespace lockstep::daemon::openai
