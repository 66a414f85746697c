#include "engine/sampling/form/schema.h"

#include "tests/catch.h"
#include "tests/engine/sampling/form/form_texts.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

TEST_CASE("F14 the object of the list: its integer, nothing missing, nothing more") {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false})";
  for (const char* text : {R"({"a":1})", R"({"a": -20})", "{\n  \"a\": 0\n}", R"({ "a": 123456789 })"})
    CHECK(fits(schema, text));
  for (const char* text :
       {"{}", R"({"a":"1"})", R"({"a":1.5})", R"({"a":01})", R"({"a":1,"b":2})", R"({"b":1})", R"({"a":1}x)",
        R"({"a":1)", R"({"a":1,})", R"([1])", "1", "", R"({"a":1e3})", R"({'a':1})"})
    CHECK_FALSE(fits(schema, text));
  CHECK(compiled(schema).notes.empty());
}

TEST_CASE("members come in their order, optional ones may be left out") {
  const std::string schema =
      R"({"properties":{"a":{"type":"null"},"b":{"type":"boolean"},"c":{"type":"string"}},"required":["b"]})";
  for (const char* text : {R"({"b":true})", R"({"a":null,"b":false})", R"({"b":true,"c":"x"})",
                           R"({"a":null, "b":true, "c":""})"})
    CHECK(fits(schema, text));
  for (const char* text :
       {"{}", R"({"a":null})", R"({"c":"","b":true})", R"({"b":true,"b":true})", R"({"b":true,"d":1})"})
    CHECK_FALSE(fits(schema, text));
}

TEST_CASE("additionalProperties: others come last, and never under a listed name") {
  const std::string schema =
      R"({"type":"object","properties":{"ab":{"type":"integer"}},"additionalProperties":{"type":"string"}})";
  for (const char* text :
       {"{}", R"({"ab":1})", R"({"ab":1,"x":"y"})", R"({"a":"y","abc":"z"})", R"({"é":"y"})", R"({"":"y"})"})
    CHECK(fits(schema, text));
  for (const char* text : {R"({"ab":"y"})", R"({"x":1})", R"({"x":"y","ab":1})", R"({"x":"y","ab":"z"})"})
    CHECK_FALSE(fits(schema, text));
  CHECK(fits(R"({"type":"object"})", R"({"any": [1, {"thing": null}]})"));
  CHECK(fits(R"({"type":"object","required":["k"]})", R"({"k": []})"));
  CHECK_FALSE(fits(R"({"type":"object","required":["k"]})", "{}"));
}

TEST_CASE("arrays: items, prefixes, counts") {
  CHECK(fits(R"({"type":"array","items":{"type":"integer"}})", "[]"));
  CHECK(fits(R"({"type":"array","items":{"type":"integer"}})", "[1, 2,3]"));
  CHECK_FALSE(fits(R"({"type":"array","items":{"type":"integer"}})", R"([1,"2"])"));
  const std::string counted = R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})";
  CHECK_FALSE(fits(counted, "[1]"));
  CHECK(fits(counted, "[1,2]"));
  CHECK(fits(counted, "[1,2,3]"));
  CHECK_FALSE(fits(counted, "[1,2,3,4]"));
  const std::string at_least = R"({"items":{"type":"integer"},"minItems":2})";
  CHECK_FALSE(fits(at_least, "[1]"));
  CHECK(fits(at_least, "[1,2,3,4,5]"));
  const std::string tuple = R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})";
  CHECK(fits(tuple, "[]"));
  CHECK(fits(tuple, R"([1,"x"])"));
  CHECK_FALSE(fits(tuple, R"(["x"])"));
  CHECK_FALSE(fits(tuple, R"([1,"x",2])"));
  CHECK(fits(R"({"type":"array","maxItems":0})", "[]"));
  CHECK_FALSE(fits(R"({"type":"array","maxItems":0})", "[1]"));
}

TEST_CASE("strings: JSON's own rules, lengths in characters, patterns anywhere unless anchored, formats") {
  CHECK(fits(R"({"type":"string"})", R"("é\n\"\\ A\/")"));
  for (const char* text :
       {"\"\n\"", R"("\x")", R"("\ud800")", "\"\xff\"", "\"\xed\xa0\x80\"", "\"open", R"("\u00g0")"})
    CHECK_FALSE(fits(R"({"type":"string"})", text));
  const std::string two = R"({"type":"string","minLength":2,"maxLength":2})";
  CHECK(fits(two, R"("é🙂")"));
  CHECK(fits(two, R"("\n")") == false);
  CHECK(fits(two, R"("\n\"")"));
  CHECK_FALSE(fits(two, R"("abc")"));
  CHECK(fits(R"({"pattern":"b+"})", R"("abbc")"));
  CHECK_FALSE(fits(R"({"pattern":"b+"})", R"("ac")"));
  CHECK(fits(R"({"pattern":"^[a-c]{2,3}$"})", R"("abc")"));
  CHECK_FALSE(fits(R"({"pattern":"^[a-c]{2,3}$"})", R"("abcd")"));
  CHECK(fits(R"({"pattern":"^[a-z]+$","maxLength":3})", R"("abc")"));
  CHECK_FALSE(fits(R"({"pattern":"^[a-z]+$","maxLength":3})", R"("abcd")"));
  CHECK(fits(R"({"pattern":"^\\S+\\s\\d$"})", R"("ab\t7")"));
  CHECK(fits(R"({"pattern":"^(ab|cd)*?\\.$"})", R"("abcdab.")"));
  CHECK(fits(R"({"pattern":"^[^\"]$"})", R"("\\")"));
  CHECK(fits(R"({"pattern":"^a|b$"})", R"("ax")"));
  CHECK(fits(R"({"pattern":"^a|b$"})", R"("xb")"));
  CHECK_FALSE(fits(R"({"pattern":"^a|b$"})", R"("xa")"));
  CHECK(fits(R"({"format":"date"})", R"("2024-02-29")") == false);  // not every year has it
  CHECK(fits(R"({"format":"date"})", R"("2024-04-30")"));
  CHECK_FALSE(fits(R"({"format":"date"})", R"("2024-04-31")"));
  CHECK(fits(R"({"format":"date-time"})", R"("2024-12-31T23:59:59.5Z")"));
  CHECK(fits(R"({"format":"ipv4"})", R"("255.0.10.199")"));
  CHECK_FALSE(fits(R"({"format":"ipv4"})", R"("256.0.0.1")"));
  CHECK(fits(R"({"format":"uuid"})", R"("123e4567-e89b-12d3-a456-426614174000")"));
}

TEST_CASE("numbers between bounds") {
  const auto takes = [](const std::string& words, const char* text) { return fits("{" + words + "}", text); };
  CHECK(takes(R"("type":"number")", "-1.5e-10"));
  CHECK_FALSE(takes(R"("type":"number")", "1."));
  CHECK_FALSE(takes(R"("type":"number")", ".5"));
  CHECK_FALSE(takes(R"("type":"number")", "NaN"));
  for (int low = -21; low <= 21; low += 3)
    for (int high = low; high <= 130; high += 31) {
      const std::string words =
          R"("type":"integer","minimum":)" + std::to_string(low) + R"(,"maximum":)" + std::to_string(high);
      const auto grammar = compiled("{" + words + "}").grammar;
      INFO(words);
      for (int i = -150; i <= 150; ++i) CHECK(fits(grammar, std::to_string(i)) == (low <= i && i <= high));
    }
  const auto grammar = compiled(R"({"type":"number","exclusiveMinimum":-1.25,"maximum":10.5})").grammar;
  for (const char* text : {"-1.249", "0", "-0.5", "10.5", "10.50", "9.999", "10", "3.14"})
    CHECK(fits(grammar, text));
  for (const char* text : {"-1.25", "-1.250", "-2", "10.51", "11", "100", "1e1", "-10"})
    CHECK_FALSE(fits(grammar, text));
  CHECK(takes(R"("type":"number","minimum":0,"exclusiveMinimum":true)", "0.1"));
  CHECK_FALSE(takes(R"("type":"number","minimum":0,"exclusiveMinimum":true)", "0.0"));
  CHECK(takes(R"("type":"number","multipleOf":1)", "7"));
  CHECK_FALSE(takes(R"("type":"number","multipleOf":1)", "7.5"));
}

TEST_CASE("constants, alternatives, references, merged parts") {
  CHECK(fits(R"({"enum":["a",1,null,[1,2]]})", R"("a")"));
  CHECK(fits(R"({"enum":["a",1,null,[1,2]]})", "[1, 2]"));
  CHECK_FALSE(fits(R"({"enum":["a",1]})", "2"));
  CHECK_FALSE(fits(R"({"type":"string","enum":["a",1]})", "1"));
  CHECK(fits(R"({"const":{"k":"v"}})", R"({"k": "v"})"));
  CHECK(fits(R"({"type":["integer","null"]})", "null"));
  const std::string either = R"({"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#"}}]})";
  CHECK(fits(either, "[[1],2,[]]"));
  CHECK_FALSE(fits(either, R"([["x"]])"));
  const std::string tree =
      R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
          "next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}}})";
  CHECK(fits(tree, R"({"v":1,"next":{"v":2,"next":null}})"));
  CHECK_FALSE(fits(tree, R"({"v":1})"));
  CHECK(fits(R"({"allOf":[{"$ref":"#/$defs/a~1b"}],"description":"x","$defs":{"a/b":{"type":"integer"}}})",
             "1"));
  const std::string both =
      R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"null"}},"required":["b"]}]})";
  CHECK(fits(both, R"({"a":1,"b":null})"));
  CHECK_FALSE(fits(both, R"({"a":1})"));
  const std::string beside = R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},
                                 "anyOf":[{"required":["a"]},{"required":["b"]}]})";
  CHECK(fits(beside, R"({"b":null})"));
  CHECK_FALSE(fits(beside, "{}"));
  CHECK(compiled(beside).notes.empty());
  const std::string kinds =
      R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},
                   {"type":"object","properties":{"k":{"const":"b"},"n":{"type":"integer"}},"required":["k","n"]}]})";
  CHECK(compiled(kinds).notes.empty());
  CHECK(fits(kinds, R"({"k":"b","n":1})"));
  CHECK(compiled(R"({"oneOf":[{"type":"number"},{"type":"integer"}]})").notes ==
        std::set<std::string>{"oneOf"});
}

TEST_CASE("F15 what is not enforced is named, and the rest still is") {
  const auto notes = [](const std::string& schema) { return compiled(schema).notes; };
  using Words = std::set<std::string>;
  CHECK(notes(R"({"type":"integer","not":{}})") == Words{"not"});
  CHECK(notes(R"({"type":"string","pattern":"(?=x)y"})") == Words{"pattern"});
  CHECK(notes(R"({"type":"string","pattern":"\\bword\\b"})") == Words{"pattern"});
  CHECK(notes(R"({"type":"string","pattern":"\\d+\\S"})").empty());
  CHECK(notes(R"({"type":"string","format":"iri"})") == Words{"format"});
  CHECK(notes(R"({"type":"integer","multipleOf":7})") == Words{"multipleOf"});
  CHECK(notes(R"({"type":"array","uniqueItems":true})") == Words{"uniqueItems"});
  CHECK(notes(R"({"type":"array","uniqueItems":false,"minItems":0})").empty());
  CHECK(notes(R"({"type":"object","patternProperties":{"a":{}}})") == Words{"patternProperties"});
  CHECK(notes(R"({"type":"object","patternProperties":{}})").empty());
  CHECK(notes(R"({"type":"object","minProperties":1})") == Words{"minProperties"});
  CHECK(notes(R"({"type":"string","maxLength":1000000})") == Words{"maxLength"});
  CHECK(notes(R"({"if":{},"then":{"type":"string"},"type":"string"})") == Words{"then"});
  CHECK_FALSE(fits(R"({"type":"integer","not":{}})", R"("x")"));
  CHECK(
      notes(R"({"type":"integer","title":"x","default":3,"x-own":1,"$schema":"y","examples":[1]})").empty());
}

TEST_CASE("F14 F16 schemas that mean nothing, or too much, are refused") {
  const auto refused = [](const std::string& schema) {
    std::string text = "accepted";
    try {
      compiled(schema);
    } catch (const FormError& error) {
      text = error.what();
    }
    INFO(schema.substr(0, 200) << ": " << text);
    CHECK(text != "accepted");
    return text;
  };
  refused(R"({"type":"string","pattern":"["})");
  refused(R"({"type":"string","pattern":")" + std::string(60'000, '(') + "\"}");
  refused(R"({"type":"string","pattern":")" + std::string(100, '(') + "a" + std::string(100, ')') + "\"}");
  refused(R"({"type":"string","pattern":"((a{1000}){1000}){1000}"})");
  refused(R"({"type":"string","pattern":"a{3,1}"})");
  refused(R"({"type":"string","pattern":"*"})");
  refused(R"({"type":"strange"})");
  refused(R"({"$ref":"#/nowhere"})");
  refused(R"({"$ref":"http://example.org/schema"})");
  refused(R"({"$ref":"#"})");
  refused(R"({"anyOf":[{"$ref":"#"}]})");
  refused(R"({"type":"object","anyOf":[{"$ref":"#"}]})");
  refused(R"({"type":"object","oneOf":[{"$ref":"#"},{"$ref":"#"}]})");
  refused(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})");
  refused(R"({"type":"integer","minimum":3,"maximum":2})");
  refused(R"({"type":"string","minLength":3,"maxLength":2})");
  refused(R"({"type":"object","required":["a"],"properties":{"a":false}})");
  refused(R"({"properties":[]})");
  refused(R"({"enum":3})");
  std::string wide = R"({"type":"array","prefixItems":[)";
  for (int i = 0; i < 60; ++i)
    wide += std::string(i ? "," : "") + R"({"type":"string","minLength":4096,"pattern":"^[a-z]*x)" +
            std::to_string(i) + "$\"}";
  refused(wide + "]}");
}

TEST_CASE("F17 blanks between tokens are bounded, digits too") {
  const std::string schema = R"({"type":"array","items":{"type":"integer"}})";
  CHECK_FALSE(fits(schema, "[  1]"));
  CHECK_FALSE(fits(schema, "[\n\n1]"));
  CHECK(fits(schema, "[\n" + std::string(32, ' ') + "1]"));
  CHECK_FALSE(fits(schema, "[\n" + std::string(33, ' ') + "1]"));
  CHECK_FALSE(fits(schema, " [1]"));
  CHECK_FALSE(fits(schema, "[1] "));
  CHECK_FALSE(fits(schema, "[" + std::string(19, '1') + "]"));
}

TEST_CASE("F16 free JSON ends by itself however deep a text would go") {
  const auto grammar = compiled("true").grammar;
  Matcher matcher(grammar);
  size_t depth = 0;
  while (matcher.allows("[") && depth < 10'000) {
    matcher.advance("[");
    ++depth;
  }
  CHECK(depth > 60);
  CHECK(depth < 300);
  for (; depth > 0 && matcher.allows("]"); --depth) matcher.advance("]");
  CHECK(depth == 0);
  CHECK(matcher.complete());
}

TEST_CASE("texts drawn at random are JSON and never come to a dead end") {
  for (
      const char* schema :
      {"true", R"({"type":"object"})",
       R"({"type":"object","properties":{"a":{"type":"integer","minimum":-5,"maximum":120},"b":{"type":"string","pattern":"^x+[^y]\"?$"},
            "c":{"type":"array","items":{"enum":["one","two",3]},"maxItems":4},"d":{"$ref":"#"}},"required":["a"]})",
       R"({"type":"array","items":{"anyOf":[{"type":"number","exclusiveMinimum":0.5},{"format":"date"},{"type":"string","maxLength":3}]}})"}) {
    const CompiledSchema made = compiled(schema);
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const std::string text = drawn(made.grammar, seed, 30, 4000);
      INFO(schema << " seed " << seed << ": " << text);
      REQUIRE(fits(made.grammar, text));
      language::Meter meter;
      CHECK_NOTHROW(language::parse_json(text, meter));
    }
  }
}

TEST_CASE("parameters of tagged calls: strings stand as they are, the rest is JSON") {
  CHECK(fits(R"({"type":"string"})", "any \"text\"\nat all", true));
  CHECK_FALSE(fits(R"({"type":"string"})", "a</parameter>b", true));
  CHECK(fits(R"({"enum":["a b",2]})", "a b", true));
  CHECK(fits(R"({"enum":["a b",2]})", "2", true));
  CHECK_FALSE(fits(R"({"enum":["a b",2]})", "\"a b\"", true));
  CHECK(fits(R"({"type":"integer"})", "30", true));
  CHECK_FALSE(fits(R"({"type":"integer"})", "x", true));
  CHECK(fits(R"({"type":"array","items":{"type":"string"}})", R"(["x"])", true));
  CHECK(fits(R"({"type":"string","pattern":"^\"$"})", "\"", true));
}

}  // namespace
