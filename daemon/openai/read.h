// Strict readers of JSON values for request fields. Each throws ApiError (400) naming `param`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/json/value.h"

namespace lockstep::daemon::openai {

bool read_bool(const json::Value& value, const std::string& param);
const std::string& read_string(const json::Value& value, const std::string& param);
const json::Array& read_array(const json::Value& value, const std::string& param);
const json::Object& read_object(const json::Value& value, const std::string& param);
// A finite number from low to high.
float read_number(const json::Value& value, const std::string& param, double low, double high);
// A number written as an integer from low to high.
uint64_t read_integer(const json::Value& value, const std::string& param, uint64_t low, uint64_t high);

// Token ids: an array of integers.
std::vector<int32_t> read_tokens(const json::Value& value, const std::string& param);

// The member of an object, or nullptr if it is missing or null.
const json::Value* present(const json::Value& object, std::string_view key);
// The member, which must be there; `at` is the object's own name, or empty.
const json::Value& required(const json::Value& object, std::string_view key, const std::string& at);

[[noreturn]] void refuse_kind(const json::Value& value, const std::string& param, std::string_view wanted);

}  // namespace lockstep::daemon::openai
