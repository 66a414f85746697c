#include "daemon/json/value.h"

#include "daemon/limits.h"
#include "tests/catch.h"

namespace lockstep::test {
namespace {

using daemon::json::parse;
using daemon::json::ParseError;
using daemon::json::write;

std::string path_of_error(const std::string& text) {
  try {
    parse(text);
  } catch (const ParseError& error) {
    return error.path();
  }
  return "no error";
}

TEST_CASE("JSON comes back as it was: key order, digits, characters") {
  const std::string text =
      R"({"b":1,"a":[1.50,-0,1e400,12345678901234567890123,true,false,null],"":"\"\\\n\u0001ü你/"})";
  CHECK(write(parse(text)) == text);
  CHECK(write(parse(" { \"a\" : [ ] , \"b\" : { } } ")) == R"({"a":[],"b":{}})");
  CHECK(write(parse(R"("\u00fc\ud83d\ude42\/")")) == "\"ü\xF0\x9F\x99\x82/\"");
}

TEST_CASE("a repeated key counts with its last value") {
  CHECK(*parse(R"({"a":"1","a":"2"})").find("a")->string() == "2");
}

TEST_CASE("what is no JSON is refused, naming the place") {
  for (const char* text : {"",      " ",    "{",      "{:",        "[1,]",      "{\"a\":1,}", "01",  "+1",
                           "1.",    ".5",   "NaN",    "-Infinity", "'a'",       "\"a",        "tru", "nul",
                           "[1] 2", "{}{}", "\"\t\"", "/* */ 1",   "{\"a\" 1}", "{1:2}"}) {
    INFO(text);
    CHECK_THROWS_AS(parse(text), ParseError);
  }
  CHECK(path_of_error(R"({"temperature": NaN})") == "temperature");
  CHECK(path_of_error(R"({"messages":[{"role":"user"},{"content":"x)") == "messages[1].content");
}

TEST_CASE("F46 bytes that are not UTF-8 are refused, lone surrogates too") {
  for (const char* text : {"\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"",
                           "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\""}) {
    INFO(text);
    CHECK_THROWS_AS(parse(text), ParseError);
  }
}

TEST_CASE("F16 nesting and the number of values have limits") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_NOTHROW(parse(nested(daemon::limits::json_depth)));
  CHECK_THROWS_WITH(parse(nested(daemon::limits::json_depth + 1)), Catch::Contains("deeper than 64"));
  CHECK_THROWS_AS(parse(nested(1'000'000)), ParseError);
  std::string many = "[0";
  for (std::size_t i = 2; i < daemon::limits::json_values; ++i) many += ",0";
  CHECK_NOTHROW(parse(many + "]"));
  CHECK_THROWS_WITH(parse(many + ",0]"), Catch::Contains("more than 200000 values"));
}

TEST_CASE("numbers are written as the shortest text that reads back") {
  CHECK(write(daemon::json::Value(0.1f)) == "0.1");
  CHECK(write(daemon::json::Value(-2.5)) == "-2.5");
  CHECK(write(daemon::json::Value(uint64_t{18446744073709551615u})) == "18446744073709551615");
  CHECK(write(daemon::json::Value(std::numeric_limits<float>::quiet_NaN())) == "null");
}

}  // namespace
}  // namespace lockstep::test
