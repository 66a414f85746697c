// JSON as a tree that keeps what JSON text says: the order of keys and the digits of numbers.
//
// parse() accepts exactly RFC 8259 in UTF-8 within the limits of daemon/limits.h. A key given twice counts
// with its last value. write() gives compact text; numbers come out as they were read.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::daemon::json {

struct Member;
class Value;
using Array = std::vector<Value>;
using Object = std::vector<Member>;

struct Number {
  std::string text;
};

class Value {
 public:
  Value() = default;
  Value(std::nullptr_t);
  Value(std::same_as<bool> auto truth) : data_(truth) {}
  Value(std::integral auto number) requires(!std::same_as<decltype(number), bool>) : data_(exact(number)) {}
  Value(std::floating_point auto number) : data_(shortest(number)) {}
  Value(Number number);
  Value(std::string text);
  Value(std::string_view text);
  Value(const char* text);
  Value(Array items);
  Value(Object members);

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const Number* number() const { return std::get_if<Number>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const Array* array() const { return std::get_if<Array>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  Array* array() { return std::get_if<Array>(&data_); }
  Object* object() { return std::get_if<Object>(&data_); }

  // The member of an object, or nullptr (also when this is no object).
  const Value* find(std::string_view key) const;

 private:
  static Number exact(std::integral auto number) { return {std::to_string(number)}; }
  // The shortest text that reads back as the number; null stands for what JSON cannot say.
  static Number shortest(std::floating_point auto number) {
    if (!(number - number == 0)) return {"null"};
    char buffer[32];
    return {std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr)};
  }

  std::variant<std::monostate, bool, Number, std::string, Array, Object> data_;
};

struct Member {
  std::string key;
  Value value;
};

// Here, as they need a whole Member.
inline Value::Value(std::nullptr_t) {}
inline Value::Value(Number number) : data_(std::move(number)) {}
inline Value::Value(std::string text) : data_(std::move(text)) {}
inline Value::Value(std::string_view text) : data_(std::string(text)) {}
inline Value::Value(const char* text) : data_(std::string(text)) {}
inline Value::Value(Array items) : data_(std::move(items)) {}
inline Value::Value(Object members) : data_(std::move(members)) {}

// what() says what is wrong and at which byte; path() is the innermost value that was being read, such as
// "messages[0].content", or empty.
class ParseError : public std::runtime_error {
 public:
  ParseError(const std::string& text, std::string path) : std::runtime_error(text), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Value parse(std::string_view text);
void write(const Value& value, std::string& out);
std::string write(const Value& value);
// A word for messages: "a number", "an array".
std::string_view kind_name(const Value& value);

}  // namespace lockstep::daemon::json
