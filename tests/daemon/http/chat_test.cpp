#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::json::Value;

const std::string hello = R"({"messages":[{"role":"user","content":"Hi"}]})";
const std::string hello_streamed = R"({"stream":true,"messages":[{"role":"user","content":"Hi"}]})";

RunningApp::Setup says(std::vector<engine::Delta> deltas) {
  RunningApp::Setup setup;
  setup.engine.script.deltas = std::move(deltas);
  return setup;
}

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
  CHECK(text_at(reply, "lockstep.seed") == "77");
  CHECK(text_at(reply, "lockstep.canon") == "1");
  CHECK(text_at(reply, "lockstep.timings.decode_seconds") == "0.5");
  CHECK(text_at(reply, "lockstep.timings.prompt_tokens_per_second") == "20");
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

}  // namespace
}  // namespace lockstep::test
