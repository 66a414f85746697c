#include "engine/sampling/form/form.h"

#include "tests/catch.h"
#include "tests/engine/sampling/form/form_texts.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

const std::vector<std::string> tools = {
    R"({"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"integer"},"note":{"type":"string"}},"required":["a"]}}})",
    R"({"type":"function","function":{"name":"stop"}})"};

std::string add_call(const std::string& value) {
  return "<tool_call>\n<function=add>\n<parameter=a>\n" + value + "\n</parameter>\n</function>\n</tool_call>";
}
const std::string stop_call = "<tool_call>\n<function=stop>\n</function>\n</tool_call>";

bool form_fits(const ReplyForm& form, const std::string& text, bool thinking = false,
               CallStyle style = CallStyle::tagged) {
  return fits(compile_form(form, tools, style, thinking).grammar, text);
}

TEST_CASE("a free reply has no grammar") {
  CHECK(!compile_form({}, tools, CallStyle::tagged, false).grammar);
}

TEST_CASE("F10 required: some call of some function, and nothing else") {
  ReplyForm form;
  form.calls = ReplyForm::Calls::required;
  CHECK(form_fits(form, add_call("3")));
  CHECK(form_fits(form, stop_call));
  CHECK(form_fits(form, stop_call + "\n" + add_call("-1")));
  for (const std::string& text :
       {std::string("Hello"), std::string(), add_call("x"), "Well: " + stop_call, stop_call + " ok"})
    CHECK_FALSE(form_fits(form, text));
  CHECK(form_fits(form,
                  "<tool_call>\n<function=add>\n<parameter=a>\n1\n</"
                  "parameter>\n<parameter=note>\nany\ntext\n</parameter>\n</function>\n</tool_call>"));
  form.single_call = true;
  CHECK(form_fits(form, stop_call));
  CHECK_FALSE(form_fits(form, stop_call + "\n" + stop_call));
  form.functions = {"stop"};
  CHECK(form_fits(form, stop_call));
  CHECK_FALSE(form_fits(form, add_call("3")));
  form.functions = {"other"};
  CHECK_THROWS_AS(form_fits(form, stop_call), FormRefused);
}

TEST_CASE("calls in JSON, where the template writes them so") {
  ReplyForm form;
  form.calls = ReplyForm::Calls::required;
  const std::string call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 3}}\n</tool_call>";
  CHECK(form_fits(form, call, false, CallStyle::json));
  CHECK_FALSE(form_fits(form, add_call("3"), false, CallStyle::json));
  CHECK(form_fits(form, "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>", false,
                  CallStyle::json));
}

TEST_CASE("F70 thoughts are free up to their end, the form holds behind it") {
  ReplyForm form;
  form.schema = R"({"type":"integer"})";
  CHECK(form_fits(form, "any {thought}\n</think>\n\n7", true));
  CHECK(form_fits(form, "</think>7", true));
  CHECK_FALSE(form_fits(form, "thought", true));
  CHECK_FALSE(form_fits(form, "thought</think>\n\nseven", true));
  CHECK(form_fits(form, "7"));
  CHECK(form_fits(form, stop_call));  // tools are offered, too
}

TEST_CASE("checked: text as it likes, calls of strict functions as their schemas say") {
  const std::vector<std::string> strict = {
      R"({"type":"function","function":{"name":"add","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}}})",
      tools[1]};
  ReplyForm form;
  form.calls = ReplyForm::Calls::checked;
  const auto grammar = compile_form(form, strict, CallStyle::tagged, false).grammar;
  CHECK(fits(grammar, ""));
  CHECK(fits(grammar, "Hello, <b>you</b>"));
  CHECK(fits(grammar, "I add.\n\n" + add_call("3")));
  CHECK_FALSE(fits(grammar, add_call("x")));
  CHECK_FALSE(fits(grammar, "<tool_call>\n<function=other>\n</function>\n</tool_call>"));
  CHECK(fits(
      grammar,
      "<tool_call>\n<function=stop>\n<parameter=why>\nno reason\n</parameter>\n</function>\n</tool_call>"));
}

TEST_CASE("F14 beside strict functions a schema still holds what is no call") {
  ReplyForm form;
  form.schema = R"({"type":"integer"})";
  form.calls = ReplyForm::Calls::checked;
  CHECK(form_fits(form, "7"));
  CHECK(form_fits(form, stop_call));
  CHECK_FALSE(form_fits(form, "seven"));
}

TEST_CASE("F14 strict refuses what cannot be enforced by its name; otherwise it is told") {
  ReplyForm form;
  form.schema = R"({"type":"string","not":{"const":"x"}})";
  CHECK(compile_form(form, {}, CallStyle::tagged, false).unenforced == std::vector<std::string>{"not"});
  form.strict = true;
  try {
    compile_form(form, {}, CallStyle::tagged, false);
    FAIL("accepted");
  } catch (const FormRefused& error) {
    CHECK(error.field == "schema");
    CHECK(std::string(error.what()).find("'not'") != std::string::npos);
  }
  form.strict = false;
  form.schema = R"({"pattern":"["})";
  CHECK_THROWS_AS(compile_form(form, {}, CallStyle::tagged, false), FormRefused);
}

}  // namespace
