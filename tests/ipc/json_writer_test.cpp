#include "ipc/json_writer.h"

#include <cmath>
#include <limits>

#include "ipc/json_reader.h"
#include "ipc/utf8.h"
#include "tests/catch.h"

using namespace lockstep::ipc;

TEST_CASE("separators are where they belong") {
  JsonWriter json;
  json.begin_object().key("a").begin_array().end_array().key("b").begin_object().end_object();
  json.key("c").begin_array().integer(-1).text("x").begin_array().boolean(true).raw("null").end_array();
  json.unsigned_integer(UINT64_MAX).end_array().key("d").real(0.1).end_object();
  CHECK(json.take() == R"({"a":[],"b":{},"c":[-1,"x",[true,null],18446744073709551615],"d":0.1})");
}

TEST_CASE("text survives the way there and back, whatever is in it") {
  std::string every;
  for (int c = 0; c < 0x80; ++c) every += static_cast<char>(c);
  for (uint32_t code : {0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFDu, 0xFFFFu, 0x10000u, 0x10FFFFu})
    append_utf8(every, code);
  JsonWriter json;
  json.text(every);
  const std::string written = json.take();
  CHECK(written.find('\0') == std::string::npos);
  CHECK(JsonValue::parse(written, 1).string() == every);
}

TEST_CASE("bytes that are not UTF-8 are replaced one by one") {
  const auto written = [](std::string_view text) {
    JsonWriter json;
    json.text(text);
    return json.take();
  };
  CHECK(written("a\xFF"
                "b") == "\"a\uFFFDb\"");
  CHECK(written("\xE2\x82") == "\"\uFFFD\uFFFD\"");
  CHECK(written("\xED\xA0\x80") == "\"\uFFFD\uFFFD\uFFFD\"");
  CHECK(written("\xC3\xA9\xC3") == "\"\u00e9\uFFFD\"");
}

TEST_CASE("reals read back as themselves") {
  for (double value : {0.0, 1.0, 0.1, 1e-7, 1e300, 5e-324, 123456.789, -2.5}) {
    JsonWriter json;
    json.real(value);
    CHECK(JsonValue::parse(json.take(), 1).number() == value);
  }
  JsonWriter json;
  json.begin_array().real(NAN).real(std::numeric_limits<double>::infinity()).end_array();
  CHECK(json.take() == "[null,null]");
}

TEST_CASE("UTF-8 is told from what only looks like it") {
  CHECK(is_utf8("plain, \u00e9, \u4f60, \U0001F600"));
  for (const char* text : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE4\xBD"})
    CHECK_FALSE(is_utf8(text));
}
