#include "ipc/json_reader.h"

#include <simdjson.h>

#include <cmath>
#include <random>
#include <regex>

#include "ipc/json_writer.h"
#include "tests/catch.h"

using namespace lockstep::ipc;

namespace {

bool accepted(std::string_view text, int most_depth = 64) {
  try {
    JsonValue::parse(text, most_depth);
    return true;
  } catch (const JsonError&) {
    return false;
  }
}

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// Rebuilds a value through the reader's typed members, so that every path of it runs.
void rebuild(JsonWriter& json, JsonValue value) {
  using Kind = JsonValue::Kind;
  switch (value.kind()) {
    case Kind::object:
      json.begin_object();
      value.each_member([&](const std::string& name, JsonValue member) {
        json.key(name);
        rebuild(json, member);
      });
      json.end_object();
      return;
    case Kind::array:
      json.begin_array();
      value.each_element([&](JsonValue element) { rebuild(json, element); });
      json.end_array();
      return;
    case Kind::string: json.text(value.string()); return;
    case Kind::boolean: json.boolean(value.is_true()); return;
    case Kind::null: json.raw("null"); return;
    case Kind::number: json.raw(value.text());
  }
}

// simdjson refuses integers beyond 64 bits and numbers beyond a double, JSON does not: those are left out of
// comparisons.
enum class Verdict { good, bad, number };
Verdict oracle(simdjson::dom::parser& parser, const std::string& text, std::string& minified) {
  simdjson::dom::element root;
  const auto error = parser.parse(text).get(root);
  static const std::regex long_number("[0-9]{19}");
  const bool long_digits = std::regex_search(text, long_number);
  if (error == simdjson::NUMBER_ERROR || long_digits) return Verdict::number;
  if (error) return Verdict::bad;
  minified = simdjson::minify(root);
  return Verdict::good;
}

}  // namespace

TEST_CASE("what is JSON is read, what is not is refused") {
  const auto good = {"0",
                     "-0",
                     "-0.0e-0",
                     "1E+5",
                     "12.5",
                     "\"\"",
                     "null",
                     "true",
                     "false",
                     " [ ] ",
                     "{ }",
                     "[1,2]",
                     "{\"a\":{\"b\":[null]}}",
                     "\t\r\n1\n",
                     "\"\\u0000\\ud83d\\ude00\\/\"",
                     "1e999",
                     "123456789012345678901234567890",
                     "\"\x7f\"",
                     "\"\u00e9\U0001F600\""};
  for (const char* text : good) {
    INFO(text);
    CHECK(accepted(text));
  }
  const auto bad = {"",
                    " ",
                    "01",
                    "-",
                    "+1",
                    "1.",
                    ".5",
                    "1e",
                    "1e+",
                    "0x1",
                    "NaN",
                    "Infinity",
                    "-Infinity",
                    "nul",
                    "nulll",
                    "True",
                    "'a'",
                    "\"",
                    "\"\\\"",
                    "\"\\x\"",
                    "\"\\u12g4\"",
                    "\"\\u12",
                    "\"\\ud800\"",
                    "\"\\udc00\"",
                    "\"\\ud800\\u0041\"",
                    "\"\\ud800\\",
                    "\"a\nb\"",
                    "\"\x01\"",
                    "[",
                    "]",
                    "[1,]",
                    "[,1]",
                    "[1 2]",
                    "{",
                    "}",
                    "{\"a\"}",
                    "{\"a\":}",
                    "{\"a\":1,}",
                    "{a:1}",
                    "{\"a\":1 \"b\":2}",
                    "{\"a\" 1}",
                    "1 2",
                    "[]]",
                    "// c\n1",
                    "\xEF\xBB\xBF"
                    "1",
                    "\"\xC0\xAF\"",
                    "\"\xED\xA0\x80\"",
                    "\"\xF4\x90\x80\x80\"",
                    "\"\xE2\x82\"",
                    "\"\xFF\"",
                    "{\"a\":1}\v"};
  for (const char* text : bad) {
    INFO(text);
    CHECK_FALSE(accepted(text));
  }
  CHECK_FALSE(accepted(std::string_view("1\0", 2)));
  CHECK_FALSE(accepted(std::string_view("\"a\0b\"", 5)));
  CHECK_FALSE(accepted(std::string_view("\"\\\0\"", 4)));
}

TEST_CASE("F16 nesting has a limit, and beyond it nothing is walked") {
  CHECK(accepted(nested(64)));
  CHECK_FALSE(accepted(nested(65)));
  CHECK_FALSE(accepted(std::string(10'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK_FALSE(accepted(objects));
}

TEST_CASE("the number of values has a limit") {
  const auto array_of = [](int zeros) {
    std::string text = "[0";
    for (int i = 1; i < zeros; ++i) text += ",0";
    return text + "]";
  };
  CHECK(accepted(array_of(most_values - 1)));
  CHECK_FALSE(accepted(array_of(most_values)));
}

TEST_CASE("values are given back as they were written") {
  const auto root = JsonValue::parse(
      R"( {"b" : 123456789012345678901234567890 , "a":[1.50, "x\n\"\u00e9\ud83d\ude00\\"], "":{},"n":-7} )",
      64);
  std::vector<std::string> names, texts;
  root.each_member([&](const std::string& name, JsonValue value) {
    names.push_back(name);
    texts.emplace_back(value.text());
  });
  CHECK(names == std::vector<std::string>{"b", "a", "", "n"});
  CHECK(texts[0] == "123456789012345678901234567890");
  CHECK(texts[1] == R"([1.50, "x\n\"\u00e9\ud83d\ude00\\"])");
  CHECK(JsonValue::parse(texts[0], 1).integer() == std::nullopt);
  CHECK(JsonValue::parse(texts[3], 1).integer() == -7);
  std::vector<JsonValue> elements;
  const std::string array = texts[1];
  JsonValue::parse(array, 64).each_element([&](JsonValue value) { elements.push_back(value); });
  REQUIRE(elements.size() == 2);
  CHECK(elements[0].number() == 1.5);
  CHECK(elements[0].integer() == std::nullopt);
  CHECK(elements[1].string() == "x\n\"\u00e9\U0001F600\\");
}

TEST_CASE("numbers keep their range") {
  const auto number = [](const char* text) { return JsonValue::parse(text, 1).number(); };
  CHECK(number("1e400") == INFINITY);
  CHECK(number("-1e400") == -INFINITY);
  CHECK(number("1e-400") == 0);
  CHECK(number(("0." + std::string(400, '0') + "1").c_str()) == 0);
  CHECK(number((std::string(400, '9') + "e-1").c_str()) == INFINITY);
  CHECK(number("0.1") == 0.1);
  CHECK(JsonValue::parse("18446744073709551615", 1).unsigned_integer() == UINT64_MAX);
  CHECK(JsonValue::parse("18446744073709551616", 1).unsigned_integer() == std::nullopt);
  CHECK(JsonValue::parse("-1", 1).unsigned_integer() == std::nullopt);
  CHECK(JsonValue::parse("-9223372036854775808", 1).integer() == INT64_MIN);
  CHECK(JsonValue::parse("9223372036854775808", 1).integer() == std::nullopt);
  CHECK(JsonValue::parse("1e2", 1).integer() == std::nullopt);
}

TEST_CASE("mutated texts are judged as simdjson judges them") {
  const std::vector<std::string> seeds = {
      R"({"method":"org.lockstep.Inference.Chat","parameters":{"prompt":"Grüße 你 \ud83d\ude00","seed":42},"more":true})",
      R"([{"a":[1,-2.5e+3,true,false,null,"\u0041\\\"\/\b\f\n\r\t"]},[[],{}],"",0])",
      R"({"type":"function","function":{"name":"f","parameters":{"type":"object","required":["x"]}}})"};
  const std::string alphabet = "{}[]:,\"\\ \n\tu0123456789abcdefDd8.eE+-truefalsn\x80\xC3\xE2\xF0\xBF\x01";
  constexpr unsigned first_seed = 20260101;
  std::mt19937 random(first_seed);
  simdjson::dom::parser parser(1 << 16);
  REQUIRE(parser.allocate(1 << 16, 64) == simdjson::SUCCESS);
  int good = 0, bad = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = seeds[random() % seeds.size()];
    for (int edits = static_cast<int>(random() % 4); edits >= 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = alphabet[random() % alphabet.size()]; break;
        case 1: text.insert(at, 1, alphabet[random() % alphabet.size()]); break;
        case 2: text.erase(at, 1 + random() % 3); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 12));
      }
      if (text.empty()) text = "1";
    }
    std::string expected;
    const Verdict verdict = oracle(parser, text, expected);
    if (verdict == Verdict::number) continue;
    if (accepted(text) != (verdict == Verdict::good)) FAIL("round " << round << ": " << text);
    if (verdict == Verdict::bad) {
      ++bad;
      continue;
    }
    ++good;
    JsonWriter json;
    rebuild(json, JsonValue::parse(text, 64));
    const std::string rebuilt = json.take();
    std::string again;
    REQUIRE(oracle(parser, rebuilt, again) == Verdict::good);
    if (again != expected) FAIL("round " << round << ": " << text << "\nrebuilt " << rebuilt);
  }
  CHECK(good > 3000);
  CHECK(bad > 3000);
}
