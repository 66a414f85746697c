#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::json::Value;

const std::string hello = R"({"messages":[{"role":"user","content":"Hi"}]})";
const std::string hello_streamed = R"({"stream":true,"messages":[{"role":"user","content":"Hi"}]})";

TEST_CASE("a whole reply has OpenAI's shape and a lockstep object") {
  RunningApp app(says({text("Hel"), text("lo")}));
  const HttpAnswer answer = app.client().post(hello);
  INFO(answer.body);
  REQUIRE(answer.status == 200);
  const Value reply = answer.json();
  CHECK(text_at(reply, "object") == "chat.completion");
  CHECK(text_at(reply, "id").starts_with("chatcmpl-"));
  CHECK(text_at(reply, "model") == "fake");
  CHECK(text_at(reply, "system_fingerprint") == "canon1-ffffffffffff");
  CHECK(text_at(reply, "choices.0.message.role") == "assistant");
  CHECK(text_at(reply, "choices.0.message.content") == "Hello");
  CHECK(text_at(reply, "choices.0.finish_reason") == "stop");
  CHECK(at(reply, "choices.0.logprobs").is_null());
  CHECK(text_at(reply, "usage.prompt_tokens") == "8");
  CHECK(text_at(reply, "usage.completion_tokens") == "2");
  CHECK(text_at(reply, "usage.total_tokens") == "10");
  CHECK(text_at(reply, "usage.prompt_tokens_details.cached_tokens") == "3");
  CHECK(text_at(reply, "usage.completion_tokens_details.reasoning_tokens") == "1");
  CHECK(text_at(reply, "lockstep.token_sha") == "0123456789ab");
  CHECK(text_at(reply, "lockstep.token_sha256").size() == 64);
  CHECK(text_at(reply, "lockstep.parameters.temperature") == "0.6");
  CHECK(at(reply, "lockstep").find("prompt_sha256"));
  CHECK(text_at(reply, "lockstep.seed") == "77");
  CHECK(text_at(reply, "lockstep.canon") == "1");
  CHECK(text_at(reply, "lockstep.timings.decode_seconds") == "0.5");
  CHECK(text_at(reply, "lockstep.timings.prompt_tokens_per_second") == "20");
}

TEST_CASE("F14 F15 what of a schema is not held to: a header, or 400 under strict") {
  RunningApp app(says({text("{}")}));
  HttpClient client = app.client();
  const auto ask = [&](const std::string& more, const std::string& fields) {
    return client.post(R"({"response_format":{"type":"json_schema","json_schema":{"schema":{"not":{}})" +
                       more + "}}," + fields + R"("messages":[{"role":"user","content":"Hi"}]})");
  };
  for (const char* stream : {"", R"("stream":true,)"}) {
    const HttpAnswer told = ask("", stream);
    CHECK(told.status == 200);
    CHECK(told.headers.at("lockstep-warning") == "schema keywords not enforced: not");
    const HttpAnswer refused = ask(R"(,"strict":true)", stream);
    CHECK(refused.status == 400);
    CHECK(text_at(refused.json(), "error.param") == "response_format");
  }
  CHECK(!client.post(hello).headers.contains("lockstep-warning"));
}

TEST_CASE("F01 F02 a streamed reply joins to the same text as a whole one, in strict SSE frames") {
  RunningApp app(says({text("Gr"), text("üß"), text(" \"你\"\n"), text("\xF0\x9F\x99\x82")}));
  HttpClient client = app.client();
  const std::string whole = text_at(client.post(hello).json(), "choices.0.message.content");
  const HttpAnswer streamed = client.post(hello_streamed);
  INFO(streamed.body);
  CHECK(streamed.headers.at("content-type") == "text/event-stream");
  const std::vector<std::string> events = streamed.events();
  REQUIRE(events.back() == "[DONE]");
  std::string joined;
  int finishes = 0;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Value chunk = daemon::json::parse(events[i]);
    CHECK(text_at(chunk, "object") == "chat.completion.chunk");
    REQUIRE(at(chunk, "choices").array()->size() == 1);
    if (const Value* content = at(chunk, "choices.0.delta").find("content")) joined += *content->string();
    finishes += !at(chunk, "choices.0.finish_reason").is_null();
    CHECK((chunk.find("lockstep") != nullptr) == (i + 2 == events.size()));
  }
  CHECK(joined == whole);
  CHECK(finishes == 1);
  CHECK(client.get("/live").status == 200);
}

TEST_CASE("F23 a silent stream gets comments, none before its header, and none if they are turned off") {
  for (const int ping : {1, 0}) {
    RunningApp::Setup setup = says({text("a")});
    setup.engine.script.prefill = std::chrono::milliseconds(1300);
    setup.configure = [ping](daemon::Configuration& c) { c.ping = std::chrono::seconds(ping); };
    RunningApp app(setup);
    const HttpAnswer answer = app.client().post(hello_streamed);
    INFO(answer.body);
    CHECK(answer.body.starts_with("data: "));
    CHECK(answer.comments() == ping);
    CHECK(answer.events().back() == "[DONE]");
  }
}

TEST_CASE("F04 the usage chunk comes last, without choices, and only when asked for") {
  RunningApp app(says({text("a")}));
  const HttpAnswer answer = app.client().post(
      R"({"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]})");
  const std::vector<std::string> events = answer.events();
  REQUIRE(events.size() >= 3);
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Value chunk = daemon::json::parse(events[i]);
    const bool last = i + 2 == events.size();
    CHECK(at(chunk, "choices").array()->empty() == last);
    CHECK((chunk.find("usage") != nullptr) == last);
    CHECK((chunk.find("lockstep") != nullptr) == last);
  }
}

TEST_CASE("F07 five tokens and finish_reason length") {
  RunningApp::Setup setup = says(std::vector<engine::Delta>(50, text("x")));
  RunningApp app(setup);
  const Value reply =
      app.client().post(R"({"max_completion_tokens":5,"messages":[{"role":"user","content":"Hi"}]})").json();
  CHECK(text_at(reply, "usage.completion_tokens") == "5");
  CHECK(text_at(reply, "choices.0.finish_reason") == "length");
}

TEST_CASE("F75 a prompt beyond the context is 400 before a stream opens, with the counts") {
  RunningApp app(says({text("a")}));
  HttpClient client = app.client();
  for (const char* stream : {"false", "true"}) {
    const HttpAnswer answer =
        client.post(R"({"stream":)" + std::string(stream) + R"(,"messages":[{"role":"user","content":")" +
                    std::string(2000, 'x') + "\"}]}");
    CHECK(answer.status == 400);
    CHECK(answer.headers.at("content-type") == "application/json");
    CHECK(text_at(answer.json(), "error.code") == "context_length_exceeded");
    CHECK(text_at(answer.json(), "error.message").find("2006") != std::string::npos);
    CHECK(text_at(answer.json(), "error.message").find("1000") != std::string::npos);
  }
  CHECK(client.post(hello).status == 200);
}

TEST_CASE("F24 a failure after the first byte is one error, then [DONE], then the end") {
  RunningApp::Setup setup = says(std::vector<engine::Delta>(50, text("x")));
  setup.engine.script.fail_after = 3;
  RunningApp app(setup);
  HttpClient client = app.client();
  const HttpAnswer answer = client.post(hello_streamed);
  const std::vector<std::string> events = answer.events();
  REQUIRE(events.size() >= 3);
  CHECK(events.back() == "[DONE]");
  const Value error = daemon::json::parse(events[events.size() - 2]);
  CHECK(text_at(error, "error.message") == "a logit is not a number");
  CHECK(text_at(error, "error.type") == "server_error");
  CHECK(answer.body.find("\"finish_reason\":\"") == std::string::npos);
  CHECK(client.closed_by_server());
  const HttpAnswer whole = app.client().post(hello);
  CHECK(whole.status == 500);
  CHECK(text_at(whole.json(), "error.code") == "engine_failed");
}

TEST_CASE("a failure before the first byte is a plain error") {
  RunningApp::Setup setup = says({text("x")});
  setup.engine.script.fail_after = 0;
  RunningApp app(setup);
  const HttpAnswer answer = app.client().post(hello_streamed);
  CHECK(answer.status == 500);
  CHECK(answer.headers.at("content-type") == "application/json");
}

TEST_CASE("F33 a template's refusal is 400") {
  RunningApp app(says({text("x")}));
  const HttpAnswer answer = app.client().post(R"({"messages":[{"role":"user","content":"refuse me"}]})");
  CHECK(answer.status == 400);
  CHECK(text_at(answer.json(), "error.param") == "messages");
}

TEST_CASE("F11 two calls: two entries, unique ids, name and id only in the first piece") {
  RunningApp::Setup setup =
      says({call(0, "one", ""), call(0, "", "{\"a\":"), call(0, "", "1}"), call(1, "two", "{}")});
  setup.engine.script.finish = engine::Finish::tool_calls;
  RunningApp app(setup);
  HttpClient client = app.client();
  const Value whole = client.post(hello).json();
  CHECK(at(whole, "choices.0.message.content").is_null());
  CHECK(text_at(whole, "choices.0.finish_reason") == "tool_calls");
  CHECK(text_at(whole, "choices.0.message.tool_calls.0.function.name") == "one");
  CHECK(text_at(whole, "choices.0.message.tool_calls.0.function.arguments") == R"({"a":1})");
  CHECK(text_at(whole, "choices.0.message.tool_calls.1.function.name") == "two");
  CHECK(text_at(whole, "choices.0.message.tool_calls.0.id") !=
        text_at(whole, "choices.0.message.tool_calls.1.id"));
  std::vector<std::string> ids, arguments(2);
  const std::vector<std::string> events = client.post(hello_streamed).events();
  for (const std::string& event : events) {
    if (event == "[DONE]" || event.find("tool_calls\":[") == std::string::npos) continue;
    const Value piece = at(daemon::json::parse(event), "choices.0.delta.tool_calls.0");
    if (piece.find("id")) ids.push_back(text_at(piece, "id") + "/" + text_at(piece, "function.name"));
    arguments[std::stoul(text_at(piece, "index"))] += text_at(piece, "function.arguments");
  }
  REQUIRE(ids.size() == 2);
  CHECK(ids[0].ends_with("_0/one"));
  CHECK(ids[1].ends_with("_1/two"));
  CHECK(arguments == std::vector<std::string>{R"({"a":1})", "{}"});
}

TEST_CASE("F08 log-probabilities: text, bytes and alternatives, whole and streamed") {
  engine::Delta half = text("");
  half.logprobs = {{1, "\xF0\x9F", -0.5f, {{1, "\xF0\x9F", -0.5f}, {2, "a", -1.5f}}}};
  engine::Delta rest = text("\xF0\x9F\x99\x82");
  rest.logprobs = {{3, "\x99\x82", -0.25f, {}}};
  RunningApp app(says({half, rest}));
  HttpClient client = app.client();
  const std::string wish = R"("logprobs":true,"top_logprobs":2,"messages":[{"role":"user","content":"Hi"}]})";
  const Value whole = client.post("{" + wish).json();
  CHECK(text_at(whole, "choices.0.logprobs.content.0.token") == "bytes:\\xf0\\x9f");
  CHECK(text_at(whole, "choices.0.logprobs.content.0.bytes") == "[240,159]");
  CHECK(text_at(whole, "choices.0.logprobs.content.0.top_logprobs.1.token") == "a");
  CHECK(text_at(whole, "choices.0.logprobs.content.1.logprob") == "-0.25");
  CHECK(text_at(whole, "choices.0.logprobs.content.1.top_logprobs") == "[]");
  std::string bytes;
  for (const std::string& event : client.post("{\"stream\":true," + wish).events())
    if (event.find("\"bytes\"") != std::string::npos)
      bytes += text_at(daemon::json::parse(event), "choices.0.logprobs.content.0.bytes");
  CHECK(bytes == "[240,159][153,130]");
}

TEST_CASE("thoughts are apart from the content") {
  engine::Delta thought;
  thought.reasoning = "hm";
  RunningApp app(says({thought, text("yes")}));
  const Value whole = app.client().post(hello).json();
  CHECK(text_at(whole, "choices.0.message.reasoning_content") == "hm");
  CHECK(text_at(whole, "choices.0.message.content") == "yes");
}

TEST_CASE("the request reaches the engine: defaults of the model where it does not say") {
  RunningApp app(says({text("a")}));
  app.client().post(
      R"({"seed":9,"top_k":0,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]})");
  CHECK(app.engine().last_sampling().seed == 9u);
  CHECK(app.engine().last_sampling().top_k == 0);
  CHECK(app.engine().last_sampling().temperature == 0.6f);
  CHECK(app.engine().last_conversation().messages[0].content == "Hi");
}

}  // namespace
}  // namespace lockstep::test
