#include "daemon/anthropic/messages_request.h"
#include "daemon/openai/error.h"
#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::json::Value;
using daemon::openai::ApiError;
using daemon::openai::Request;

const std::string path = "/v1/messages";

std::string body(const std::string& fields = {}) {
  return R"({"max_tokens":50,)" + fields + R"("messages":[{"role":"user","content":"Hi"}]})";
}

Request read(const std::string& text) {
  return daemon::anthropic::read_messages_request(daemon::openai::parse_body(text), {});
}

std::string refused(const std::string& text) {
  try {
    read(text);
  } catch (const ApiError& error) {
    INFO(error.what());
    CHECK(error.status == 400);
    return error.param;
  }
  return "accepted";
}

// The data of named events, in order; the names must be the types.
std::vector<Value> events_of(const std::string& stream) {
  std::vector<Value> out;
  for (std::size_t begin = 0; begin < stream.size();) {
    const std::size_t line = stream.find('\n', begin), end = stream.find("\n\n", begin);
    REQUIRE(end != std::string::npos);
    const std::string name = stream.substr(begin, line - begin);
    out.push_back(daemon::json::parse(stream.substr(line + 7, end - line - 7)));
    CHECK(name == "event: " + text_at(out.back(), "type"));
    begin = end + 2;
  }
  return out;
}

TEST_CASE("messages, system, thoughts, calls and results become the conversation") {
  const Request request = read(
      R"({"max_tokens":9,"system":[{"type":"text","text":"Be"},{"type":"text","text":" short","cache_control":{}}],
          "thinking":{"type":"enabled","budget_tokens":1024},"stop_sequences":["x"],"top_k":3,"metadata":{"user_id":"u"},
          "tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],
          "tool_choice":{"type":"any","disable_parallel_tool_use":true},
          "messages":[{"role":"user","content":"a"},
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"redacted_thinking","data":"x"},
              {"type":"text","text":"b"},{"type":"tool_use","id":"t1","name":"f","input":{"n":1.50}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"r"}]},
              {"type":"tool_result","tool_use_id":"t2"},{"type":"text","text":"c"},{"type":"text","text":"d"}]}]})");
  const auto& messages = request.conversation.messages;
  REQUIRE(messages.size() == 6);
  CHECK((messages[0].role == "system" && messages[0].content == "Be short"));
  CHECK((messages[2].role == "assistant" && messages[2].content == "b" && messages[2].reasoning == "hm"));
  CHECK(messages[2].calls.at(0).arguments == R"({"n":1.50})");
  CHECK((messages[3].role == "tool" && messages[3].call_id == "t1" && messages[3].content == "r"));
  CHECK((messages[4].call_id == "t2" && messages[4].content.empty()));
  CHECK((messages[5].role == "user" && messages[5].content == "cd"));
  CHECK(
      request.conversation.tools ==
      std::vector<std::string>{
          R"({"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}})"});
  CHECK(request.conversation.form.calls == engine::ReplyForm::Calls::required);
  CHECK(request.conversation.form.single_call);
  CHECK(request.conversation.thinking == true);
  CHECK(request.sampling.max_tokens == 9);
  CHECK(request.sampling.stop == std::vector<std::string>{"x"});
  CHECK(request.sampling.top_k == 3);
  CHECK(read(body()).conversation.thinking == false);
  CHECK(read(body(R"("output_config":{"format":{"type":"json_schema","schema":{"type":"integer"}}},)"))
            .conversation.form.schema == R"({"type":"integer"})");
}

TEST_CASE("F18 F19 what is wrong in a message request is refused by its place") {
  CHECK(refused("[]") == "");
  CHECK(refused(R"({"messages":[{"role":"user","content":"a"}]})") == "max_tokens");
  CHECK(refused(R"({"max_tokens":1})") == "messages");
  CHECK(refused(R"({"max_tokens":1,"messages":[]})") == "messages");
  const auto message = [](const std::string& one) { return R"({"max_tokens":1,"messages":[)" + one + "]}"; };
  CHECK(refused(message("null")) == "messages[0]");
  CHECK(refused(message(R"({"role":"system","content":"a"})")) == "messages[0].role");
  CHECK(refused(message(R"({"role":"assistant","content":"a"})")) == "messages[0].role");
  CHECK(refused(message(R"({"role":"user"})")) == "messages[0].content");
  CHECK(refused(message(R"({"role":"user","content":3})")) == "messages[0].content");
  CHECK(refused(message(R"({"role":"user","content":[{"type":"image","source":{}}]})")) ==
        "messages[0].content[0].type");
  CHECK(refused(message(R"({"role":"user","content":[{"type":"text"}]})")) == "messages[0].content[0].text");
  CHECK(refused(message(R"({"role":"user","content":[{"type":"tool_result"}]})")) ==
        "messages[0].content[0].tool_use_id");
  for (const auto& [fields, param] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("temperature":"1",)", "temperature"},
           {R"("system":3,)", "system"},
           {R"("stop_sequences":[""],)", "stop_sequences"},
           {R"("thinking":{"type":"on"},)", "thinking.type"},
           {R"("tools":[{"name":"f"}],)", "tools[0].input_schema"},
           {R"("tools":[{"type":"web_search_20250305","name":"w"}],)", "tools[0].type"},
           {R"("tool_choice":{"type":"any"},)", "tool_choice"},
           {R"("tool_choice":{"type":"x"},)", "tool_choice.type"},
           {R"("mcp_servers":[{}],)", "mcp_servers"},
           {R"("output_config":{"format":{"type":"x"}},)", "output_config.format.type"}}) {
    INFO(fields);
    CHECK(refused(body(fields)) == param);
  }
}

TEST_CASE("a whole message: blocks, stop reason, usage, and errors of its own shape") {
  RunningApp app(says({thought("hm"), text("Hel"), text("lo"), call(0, "f", ""), call(0, "", R"({"a":1})")},
                      engine::Finish::tool_calls));
  HttpClient client = app.client();
  const HttpAnswer answer = client.post(path, body());
  INFO(answer.body);
  const Value message = answer.json();
  CHECK(text_at(message, "type") == "message");
  CHECK(text_at(message, "id").starts_with("msg_"));
  CHECK(text_at(message, "content.0.thinking") == "hm");
  CHECK(text_at(message, "content.1.text") == "Hello");
  CHECK(text_at(message, "content.2.name") == "f");
  CHECK(text_at(message, "content.2.input.a") == "1");
  CHECK(text_at(message, "stop_reason") == "tool_use");
  CHECK(text_at(message, "usage.input_tokens") == "5");
  CHECK(text_at(message, "usage.cache_read_input_tokens") == "3");
  CHECK(text_at(message, "usage.output_tokens") == "5");
  CHECK(text_at(message, "lockstep.token_sha") == "0123456789ab");
  const HttpAnswer wrong = client.post(path, "{}");
  CHECK(wrong.status == 400);
  CHECK(text_at(wrong.json(), "type") == "error");
  CHECK(text_at(wrong.json(), "error.type") == "invalid_request_error");
  CHECK(text_at(client.post(path, body(R"("model":"x",)")).json(), "error.type") == "not_found_error");
  CHECK(
      text_at(
          client.post("/v1/messages/count_tokens", R"({"messages":[{"role":"user","content":"Hi"}]})").json(),
          "input_tokens") == "8");
}

TEST_CASE("a streamed message: every block begins, grows and ends; no [DONE]") {
  RunningApp app(says({thought("h"), thought("m"), text("Hel"), text("lo"), call(0, "f", ""),
                       call(0, "", R"({"a")"), call(0, "", ":1}"), call(1, "g", "{}")},
                      engine::Finish::tool_calls));
  const HttpAnswer answer = app.client().post(path, body(R"("stream":true,)"));
  INFO(answer.body);
  const std::vector<Value> events = events_of(answer.body);
  std::string types, thinking, said, json;
  for (const Value& event : events) {
    const std::string type = text_at(event, "type");
    types += type == "content_block_delta"   ? "d"
             : type == "content_block_start" ? "["
             : type == "content_block_stop"  ? "]"
                                             : type + ";";
    if (type != "content_block_delta") continue;
    const Value& delta = at(event, "delta");
    if (const Value* more = delta.find("thinking")) thinking += *more->string();
    if (const Value* more = delta.find("text")) said += *more->string();
    if (const Value* more = delta.find("partial_json")) json += *more->string();
  }
  CHECK(types == "message_start;[dd][dd][dd][d]message_delta;message_stop;");
  CHECK(thinking == "hm");
  CHECK(said == "Hello");
  CHECK(json == R"({"a":1}{})");
  CHECK(text_at(events[0], "message.usage.input_tokens") == "8");
  CHECK(text_at(events[events.size() - 2], "delta.stop_reason") == "tool_use");
}

TEST_CASE("F24 a message that fails in its stream ends with one error event") {
  RunningApp::Setup setup = says({text("a"), text("b")});
  setup.engine.script.fail_after = 1;
  RunningApp app(setup);
  const std::vector<Value> events = events_of(app.client().post(path, body(R"("stream":true,)")).body);
  CHECK(text_at(events.back(), "type") == "error");
  CHECK(text_at(events.back(), "error.type") == "api_error");
}

}  // namespace
}  // namespace lockstep::test
