// The template language against Jinja2 3.1 (tests/tools/golden_templates.py).
#include "tests/catch.h"
#include "tests/engine/chat/golden.h"

namespace lockstep::engine {
namespace {

void check(const std::string& text, const language::Value& expected, const std::string& label) {
  INFO(label << "\ngot: " << text);
  const bool refused = text.rfind("refused: ", 0) == 0;
  const language::Value* wanted = expected.dict().find("text");
  CHECK(refused == (wanted == nullptr));
  if (wanted && !refused) CHECK(text == golden::text_of(wanted));
}

std::string render(const std::string& source, const std::string& variables = "{}") {
  return golden::render(source, golden::json(variables).dict());
}

}  // namespace

TEST_CASE("F38 every construct of the language gives Jinja2's text") {
  const language::Value root = golden::json(golden::read(golden::data / "language.json"));
  const language::Dict& context = root.dict().find("context")->dict();
  const auto& cases = root.dict().find("cases")->items();
  CHECK(cases.size() > 300);
  for (const language::Value& one : cases) {
    const std::string source = golden::text_of(one.dict().find("template"));
    check(golden::render(source, context), one, source);
  }
}

TEST_CASE("F38 templates in the styles of public ones give Jinja2's text") {
  const language::Value root = golden::json(golden::read(golden::data / "styles.json"));
  const auto& conversations = root.dict().find("conversations")->items();
  for (const auto& [style, results] : root.dict().find("results")->dict().entries()) {
    const std::string source = golden::read(golden::data / "styles" / (style.text().text + ".jinja"));
    REQUIRE(results.items().size() == conversations.size());
    for (size_t i = 0; i < conversations.size(); ++i)
      check(golden::render(source, conversations[i].dict()), results.items()[i],
            style.text().text + ", conversation " + std::to_string(i));
  }
}

TEST_CASE("F36 tojson is json.dumps(ensure_ascii=False)") {
  const std::string tool =
      R"({"x": {"b": "temp > 10 & \"x\" — 你 a/b", "a": [1.0, 1e16, 1e-05, 123456789012345678901234567890, -0, "\u007f\u0001"]}})";
  CHECK(render("{{ x | tojson }}", tool) ==
        "{\"b\": \"temp > 10 & \\\"x\\\" — 你 a/b\", \"a\": [1.0, 1e+16, 1e-05, "
        "123456789012345678901234567890, 0, "
        "\"\x7f\\u0001\"]}");
  CHECK(render("{{ {'b': [], 'a': {'c': 1}} | tojson(indent=2) }}") ==
        "{\n  \"b\": [],\n  \"a\": {\n    \"c\": 1\n  }\n}");
}

TEST_CASE("F38 what a template cannot use is named with its line when it is loaded") {
  CHECK(render("a\n{{ x | nosuch }}") == "refused: chat template, line 2: there is no filter named 'nosuch'");
  CHECK(render("{{ x is nosuch }}") == "refused: chat template, line 1: there is no test named 'nosuch'");
  CHECK(render("\n\n{% nosuch %}") == "refused: chat template, line 3: unknown tag 'nosuch'");
  CHECK(render("{% include 'x' %}") ==
        "refused: chat template, line 1: the tag 'include' is not supported in a chat template");
  CHECK(render("{% if x %}{{ 1\n}}") ==
        "refused: chat template, line 2: unexpected end of the template, expected {% endif %}");
  CHECK(render("a\n{{ x.y }}") == "refused: chat template, line 2: 'x' is undefined");
  CHECK(render("{{ raise_exception('no ' ~ 'tools') }}") == "refused: no tools");
}

TEST_CASE("strftime_now gives the local time") {
  const std::string year = render("{{ strftime_now('%Y') }}");
  CHECK(year.size() == 4);
  CHECK(render("{{ strftime_now('%d %b %%') }}").size() == 8);
}

TEST_CASE("F06 a content in parts is written as the text") {
  const std::string source = golden::read(golden::starter / "chat_template.jinja");
  for (const std::string role : {"system", "user", "assistant", "tool"}) {
    const std::string rest = R"(, {"role": "user", "content": "c"}]})";
    const std::string first = R"({"messages": [{"role": ")" + role + R"(", "content": )";
    const std::string whole = render(source, first + R"("ab"})" + rest);
    CHECK(whole.find("ab") != std::string::npos);
    CHECK(render(source, first + R"([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})" +
                             rest) == whole);
    CHECK(render(source, first + R"([{"type": "sound"}]})" + rest) ==
          "refused: Only text parts are supported.");
  }
}

}  // namespace lockstep::engine
