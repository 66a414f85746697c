// What a conversation becomes before its template sees it.
#include "engine/chat/chat_format.h"

#include "tests/catch.h"
#include "tests/engine/chat/golden.h"
#include "tests/tools/temporary_directory.h"

namespace lockstep::engine {
namespace {

using golden::message;

// Writes messages down in one line each.
constexpr const char* plain = "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}";

ChatFormat made(const std::string& source) {
  static const tools::TemporaryDirectory directory;
  tools::write_file(directory.path() / "chat_template.jinja", source);
  return ChatFormat::load(directory.path());
}

std::string render(const ChatFormat& format, const Conversation& conversation) {
  try {
    return format.render(conversation).text;
  } catch (const TemplateError& error) {
    return "refused: " + std::string(error.what());
  }
}

std::string roles(std::initializer_list<const char*> list) {
  Conversation conversation;
  int number = 0;
  for (const char* role : list) conversation.messages.push_back(message(role, std::to_string(++number)));
  static const ChatFormat format = made(plain);
  return render(format, conversation);
}

Conversation call_with(const std::string& arguments) {
  Conversation conversation;
  conversation.messages = {message("user", "go"), message("assistant", "")};
  conversation.messages[1].calls = {{"id1", "f", arguments}};
  return conversation;
}

}  // namespace

TEST_CASE("F33 system and developer messages are merged in front and users behind") {
  CHECK(roles({"system", "system", "user"}) == "system:1\n\n2\nuser:3\n");
  CHECK(roles({"developer", "user"}) == "system:1\nuser:2\n");
  CHECK(roles({"system", "user", "assistant", "system", "user"}) ==
        "system:1\nuser:2\nassistant:3\nuser:4\nuser:5\n");
  CHECK(roles({"user", "developer"}) == "user:1\nuser:2\n");
  // What was written before stays a prefix.
  const std::string before = roles({"system", "user", "assistant"});
  CHECK(roles({"system", "user", "assistant", "system", "user"}).substr(0, before.size()) == before);
  // The starter refuses a later system message; it never sees one.
  Conversation conversation;
  for (const char* role : {"system", "user", "assistant", "developer", "user"})
    conversation.messages.push_back(message(role, "x"));
  CHECK(render(ChatFormat::load(golden::starter), conversation).find("refused") == std::string::npos);
}

TEST_CASE("F33 a template's own refusal is its message") {
  CHECK(render(ChatFormat::load(golden::starter), Conversation{}) == "refused: No messages.");
  Conversation conversation;
  conversation.messages = {message("critic", "x")};
  CHECK(render(ChatFormat::load(golden::starter), conversation) == "refused: Unknown role: critic");
}

TEST_CASE("F35 arguments reach the template as mappings") {
  const ChatFormat format = made(
      "{% for c in messages[1].tool_calls %}{{ c.id }} {{ c.type }} {{ c.function.name }}"
      "{% for k, v in c.function.arguments | items %} {{ k }}={{ v }}{% endfor %}{% endfor %}");
  CHECK(render(format, call_with(R"({"a": 1, "b": "x"})")) == "id1 function f a=1 b=x");
  CHECK(render(format, call_with("")) == "id1 function f");
  CHECK(render(format, call_with("{}")) == "id1 function f");
  CHECK(render(format, call_with("null")) == "refused: the arguments of the call of f are not a JSON object");
  CHECK(render(format, call_with("[1]")) == "refused: the arguments of the call of f are not a JSON object");
  CHECK(render(format, call_with("\"{}\"")) ==
        "refused: the arguments of the call of f are not a JSON object");
  for (const char* broken : {"{bad", "{\"a\": 1} x", "{\"a\": 1}, {}", "{\"a\": 01}", "{\"a\": 1,}",
                             "{\"a\": nul}", "{\"a\": \"\\q\"}"})
    CHECK(render(format, call_with(broken))
              .rfind("refused: the arguments of the call of f are not valid JSON", 0) == 0);
  const std::string deep = "{\"a\": " + std::string(1000, '[') + std::string(1000, ']') + "}";
  CHECK(render(format, call_with(deep)).rfind("refused: ", 0) == 0);
}

TEST_CASE("what a template gets besides the messages") {
  Conversation conversation;
  conversation.messages = {message("user", "x")};
  const ChatFormat format = made(
      "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}"
      "{{ enable_thinking is defined }}{{ effort | default('-') }}");
  CHECK(render(format, conversation) == "TrueTrueTrueFalse-");
  conversation.thinking = false;
  conversation.template_arguments = R"({"effort": "low", "tools": 1})";
  CHECK(render(format, conversation) == "FalseTrueTrueTruelow");
  conversation.template_arguments = "[]";
  CHECK(render(format, conversation) == "refused: the template's arguments are not a JSON object");
  conversation.template_arguments.clear();
  conversation.tools = {"{\"a\": 1}", "7"};
  CHECK(render(format, conversation) == "refused: tool 1 is not a JSON object");
  conversation.tools = {"{"};
  CHECK(render(format, conversation).rfind("refused: tool 0 is not valid JSON", 0) == 0);
}

TEST_CASE("a tool's message names the function it answers, and thoughts are reasoning_content") {
  Conversation conversation = call_with("{}");
  conversation.messages[1].reasoning = "hm";
  conversation.messages.push_back(message("tool", "3"));
  conversation.messages[2].call_id = "id1";
  const ChatFormat format = made(
      "{{ messages[1].reasoning_content }}{{ messages[0].reasoning_content is defined }}"
      "{{ messages[2].tool_call_id }}{{ messages[2].name }}");
  CHECK(render(format, conversation) == "hmFalseid1f");
}

TEST_CASE("where a template is read from") {
  const tools::TemporaryDirectory directory;
  const auto write = [&](const char* name, const std::string& text) {
    tools::write_file(directory.path() / name, text);
  };
  const auto result = [&] {
    try {
      return render(ChatFormat::load(directory.path()), Conversation{});
    } catch (const TemplateError& error) {
      return "at load: " + std::string(error.what());
    }
  };
  CHECK(result().find("has no chat template") != std::string::npos);
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null,
    "chat_template": "{{ bos_token }}a{{ eos_token }}{{ pad_token is defined }}"})");
  CHECK(result() == "<s>a</s>False");
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
  CHECK(result() == "d");
  write("chat_template.jinja", "from the file{{ 1 | nosuch }}");
  CHECK(result() == "at load: chat template, line 1: there is no filter named 'nosuch'");
  write("chat_template.jinja", "from the file");
  CHECK(result() == "from the file");
  write("tokenizer_config.json", "{");
  CHECK(result().rfind("at load: " + directory.path().string() + "/tokenizer_config.json: not valid JSON",
                       0) == 0);
}

}  // namespace lockstep::engine
