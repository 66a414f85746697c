#include <random>

#include "engine/chat/chat_format.h"
#include "engine/chat/language/json.h"
#include "tests/catch.h"

namespace lockstep::engine {
namespace {

using Kind = ReplyPiece::Kind;

const std::vector<std::string> tools = {
    R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "$defs": {"n": {"type": "integer"}},
        "properties": {"i": {"type": "integer"}, "x": {"type": "number"}, "b": {"type": "boolean"}, "z": {"type": "null"},
        "a": {"type": "array"}, "o": {"type": "object"}, "s": {"type": "string"}, "r": {"$ref": "#/$defs/n"},
        "opt": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "e": {"enum": [1, 2]}, "any": {"description": "free"},
        "u": {"type": ["integer", "string"]}}}}})",
    R"({"name": "flat", "parameters": {"properties": {"n": {"type": "integer"}}}})"};

// What a reply says, joined: "R(...)" reasoning, "C(...)" content, "name(...)" calls.
std::string joined(const std::vector<ReplyPiece>& pieces) {
  std::string text;
  bool open = false;
  Kind last{};
  for (const ReplyPiece& piece : pieces) {
    if (!open || piece.kind != last) {
      if (open) text += piece.kind == Kind::call_arguments ? "" : ")";
      if (piece.kind == Kind::reasoning) text += "R(";
      if (piece.kind == Kind::content) text += "C(";
    }
    text += piece.text;
    if (piece.kind == Kind::call_begin) text += "#" + std::to_string(piece.call) + "(";
    open = true;
    last = piece.kind;
  }
  return open ? text + ")" : text;
}

std::string parse(std::string_view text, bool in_reasoning, const std::vector<std::string>& with,
                  const std::vector<size_t>& cuts = {}) {
  ReplyParser parser(in_reasoning, with);
  std::vector<ReplyPiece> pieces;
  const auto add = [&](std::vector<ReplyPiece> more) {
    pieces.insert(pieces.end(), more.begin(), more.end());
  };
  size_t at = 0;
  for (const size_t cut : cuts) {
    add(parser.push(text.substr(at, cut - at)));
    at = cut;
  }
  add(parser.push(text.substr(at)));
  add(parser.finish());
  return joined(pieces);
}

std::string call(const std::string& parameters, const std::string& name = "f") {
  return "<tool_call>\n<function=" + name + ">\n" + parameters + "</function>\n</tool_call>";
}
std::string parameter(const std::string& name, const std::string& value) {
  return "<parameter=" + name + ">\n" + value + "\n</parameter>\n";
}
std::string typed(const std::string& name, const std::string& value) {
  const std::string result = parse(call(parameter(name, value)), false, tools);
  const std::string before = "f#0({\"" + name + "\": ";
  REQUIRE(result.substr(0, before.size()) == before);
  return result.substr(before.size(), result.size() - before.size() - 2);
}

}  // namespace

TEST_CASE("reasoning, content and calls are told apart") {
  CHECK(parse("", false, tools).empty());
  CHECK(parse("hi", false, {}) == "C(hi)");
  CHECK(parse("a thought\n</think>\n\nHello\n", true, {}) == "R(a thought)C(Hello\n)");
  CHECK(parse("\n\na\n\nb\n</think>Hello", true, tools) == "R(a\n\nb)C(Hello)");
  CHECK(parse("only a thought\n", true, tools) == "R(only a thought\n)");
  CHECK(parse("</think>\n\nHello", true, tools) == "C(Hello)");
  CHECK(parse("\n<think>\nhm\n</think>\n\nHello", false, tools) == "R(hm)C(Hello)");
  CHECK(parse("\n<thin air", false, tools) == "C(\n<thin air)");
  CHECK(parse("a </think> b", false, tools) == "C(a </think> b)");
  CHECK(parse("Let me see.\n\n" + call(parameter("s", "x")) + "\n" + call("", "g"), false, tools) ==
        "C(Let me see.)f#0({\"s\": \"x\"})g#1({})");
  CHECK(parse("t\n</think>\n\n" + call(parameter("s", "x")) + "\nafter", true, tools) ==
        "R(t)f#0({\"s\": \"x\"})C(after)");
  CHECK(parse("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"}{\", \"i\": [1]}}\n</tool_call>",
              false, tools) == "f#0({\"s\": \"}{\", \"i\": [1]})");
  CHECK(parse("<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"i\\\": 1}\"}</tool_call>", false, tools) ==
        "f#0({\"i\": 1})");
  CHECK(parse("<tool_call>{\"name\": \"f\"}", false, tools) == "f#0({})");
  CHECK(parse(call(""), false, {}) == "C(" + call("") + ")");
}

TEST_CASE("F12 arguments get the types of the schema") {
  CHECK(typed("i", "30") == "30");
  CHECK(typed("i", "-7") == "-7");
  CHECK(typed("i", "30.0") == "30");
  CHECK(typed("i", "30.5") == "\"30.5\"");
  CHECK(typed("i", "thirty") == "\"thirty\"");
  CHECK(typed("i", "123456789012345678901234567890") == "123456789012345678901234567890");
  CHECK(typed("x", "30") == "30");
  CHECK(typed("x", "1.5e3") == "1500.0");
  CHECK(typed("x", "1e999") == "\"1e999\"");
  CHECK(typed("b", "True") == "true");
  CHECK(typed("b", "false") == "false");
  CHECK(typed("b", "1") == "\"1\"");
  CHECK(typed("z", "null") == "null");
  CHECK(typed("z", "None") == "null");
  CHECK(typed("a", "[1]") == "[1]");
  CHECK(typed("a", "{\"a\": 1}") == "\"{\\\"a\\\": 1}\"");
  CHECK(typed("o", "{\"b\":1,\n \"a\":\"你\"}") == "{\"b\": 1, \"a\": \"你\"}");
  CHECK(typed("s", "null") == "\"null\"");
  CHECK(typed("s", "30") == "\"30\"");
  CHECK(typed("s", " a \"quoted\"\n\tline ") == "\" a \\\"quoted\\\"\\n\\tline \"");
  CHECK(typed("r", "5") == "5");
  CHECK(typed("opt", "null") == "null");
  CHECK(typed("opt", "30") == "\"30\"");
  CHECK(typed("e", "2") == "2");
  CHECK(typed("u", "30") == "30");
  CHECK(typed("u", "x") == "\"x\"");
  CHECK(typed("any", "[true]") == "[true]");
  CHECK(typed("unknown", "30") == "\"30\"");
  CHECK(parse(call(parameter("n", "4"), "flat"), false, tools) == "flat#0({\"n\": 4})");
}

TEST_CASE("a call's text is never lost") {
  for (const std::string text :
       {"a <tool_call> b", "<tool_call>", "x\n\n<tool_call>\n", "<tool_call>\n<function=f",
        "<tool_call><function=f><parameter=s>\nx\n", "<tool_call>{\"name\": }</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
        "<tool_call><function=f>junk</function></tool_call>", "<tool_call", "a\n\n<tool_"})
    CHECK(parse(text, false, tools) == "C(" + text + ")");
  // A value may contain the markers; only </tool_call> may be missing at the end.
  const std::string value = "</tool_call> <tool_call> </parameter> </function x";
  CHECK(parse(call(parameter("s", value)), false, tools) == "f#0({\"s\": \"" + value + "\"})");
  CHECK(parse("<tool_call>\n<function=f>\n</function>\n</tool_", false, tools) == "f#0({})");
  CHECK(parse("<tool_call>no" + call("") + "yes", false, tools) == "C(<tool_call>no)f#0({})C(yes)");
}

TEST_CASE("pieces joined over any split equal the whole") {
  const std::vector<std::string> parts = {"\n",
                                          "\n\n",
                                          "text",
                                          "你好",
                                          "<think>",
                                          "</think>",
                                          "<tool_call>",
                                          "</tool_call>",
                                          "<function=f>",
                                          "<function=",
                                          "</function>",
                                          parameter("i", "3"),
                                          parameter("s", "a\n</parameter> b"),
                                          "{\"name\": \"f\", \"arguments\": {\"i\": \"}\"}}",
                                          call(parameter("b", "True")),
                                          "<",
                                          "</",
                                          "{",
                                          "}"};
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::string text;
    for (unsigned i = random() % 12; i > 0; --i) text += parts[random() % parts.size()];
    const bool in_reasoning = random() % 2;
    const std::vector<std::string> with = random() % 4 ? tools : std::vector<std::string>{};
    std::vector<size_t> cuts;
    if (random() % 4 == 0)
      for (size_t i = 0; i <= text.size(); ++i) cuts.push_back(i);
    else
      for (unsigned i = random() % 8; i > 0; --i) cuts.push_back(random() % (text.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    INFO("seed " << seed << "\n" << text);
    CHECK(parse(text, in_reasoning, with, cuts) == parse(text, in_reasoning, with));
  }
}

}  // namespace lockstep::engine
