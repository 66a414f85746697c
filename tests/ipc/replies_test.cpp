#include "ipc/connection.h"
#include "ipc/ipc.h"
#include "tests/catch.h"

using namespace lockstep::ipc;

namespace {

Reply received(const std::string& bytes) {
  REQUIRE(bytes.find('\0') == bytes.size() - 1);
  return read_reply(std::string_view(bytes.data(), bytes.size() - 1));
}

Final example() {
  Final final;
  final.finish = "tool_calls";
  final.prompt_tokens = 12;
  final.cached_tokens = 3;
  final.reply_tokens = 4;
  final.reasoning_tokens = 1;
  final.token_sha = "abcdef";
  final.seed = UINT64_MAX;
  final.model = "starter";
  final.fingerprint = "0123";
  final.canon_version = 1;
  final.queue_seconds = 0.25;
  final.prompt_seconds = 1.5;
  final.decode_seconds = 0.1;
  return final;
}

}  // namespace

TEST_CASE("a streamed reply arrives as it was sent") {
  Reply reply = received(progress_reply({512, 1100}));
  CHECK(reply.continues);
  const auto accepted =
      std::get<Accepted>(read_chat_reply(received(accepted_reply({"chatcmpl-1", 9})).parameters));
  CHECK(accepted.id == "chatcmpl-1");
  CHECK(accepted.prompt_tokens == 9);
  const auto progress = std::get<Progress>(read_chat_reply(reply.parameters));
  CHECK(progress.read == 512);
  CHECK(progress.total == 1100);

  reply = received(delta_reply({"con\ntent \u4f60", "rea\"soning", {{0, "f", ""}, {1, "", "{\"a\":"}}}));
  CHECK(reply.continues);
  const auto delta = std::get<Delta>(read_chat_reply(reply.parameters));
  CHECK(delta.content == "con\ntent \u4f60");
  CHECK(delta.reasoning == "rea\"soning");
  REQUIRE(delta.calls.size() == 2);
  CHECK(delta.calls[0].name == "f");
  CHECK(delta.calls[1].index == 1);
  CHECK(delta.calls[1].arguments == "{\"a\":");

  CHECK(delta_reply({"x", "", {}}) ==
        std::string(R"({"parameters":{"delta":{"content":"x"}},"continues":true})") + '\0');
}

TEST_CASE("the last reply says how it ended") {
  Final sent = example();
  Reply reply = received(final_reply(sent));
  CHECK_FALSE(reply.continues);
  auto got = std::get<Final>(read_chat_reply(reply.parameters));
  CHECK(got.finish == sent.finish);
  CHECK(got.prompt_tokens == 12);
  CHECK(got.cached_tokens == 3);
  CHECK(got.reply_tokens == 4);
  CHECK(got.reasoning_tokens == 1);
  CHECK(got.token_sha == sent.token_sha);
  CHECK(got.seed == sent.seed);
  CHECK(got.model == sent.model);
  CHECK(got.fingerprint == sent.fingerprint);
  CHECK(got.canon_version == 1);
  CHECK(got.queue_seconds == 0.25);
  CHECK(got.prompt_seconds == 1.5);
  CHECK(got.decode_seconds == 0.1);
  CHECK_FALSE(got.whole);

  sent.whole = Whole{"", "why", {{"", "f", "{\"cut"}}};
  reply = received(final_reply(sent));
  got = std::get<Final>(read_chat_reply(reply.parameters));
  REQUIRE(got.whole);
  CHECK(got.whole->content.empty());
  CHECK(got.whole->reasoning == "why");
  REQUIRE(got.whole->calls.size() == 1);
  CHECK(got.whole->calls[0].arguments == "{\"cut");
  CHECK(final_text(reply.parameters).substr(0, 12) == "{\"content\":\"");
}

TEST_CASE("models and status arrive as they were sent") {
  const auto models = read_models_reply(
      received(models_reply({{"starter", "qwen3_5", "ab12", 1, 2048, 16384, 1700000000, "cpu", "8 CPUs"}}))
          .parameters);
  REQUIRE(models.size() == 1);
  CHECK(models[0].name == "starter");
  CHECK(models[0].context == 2048);
  CHECK(models[0].created == 1700000000);
  CHECK(models[0].device_description == "8 CPUs");

  Status sent;
  sent.version = "0.1.0";
  sent.state = "starting";
  sent.uptime_seconds = 1.5;
  sent.refused = UINT64_MAX;
  sent.cache = {1, 2, 3, 4, UINT64_MAX};
  sent.lanes = 16;
  sent.queue = 64;
  sent.memory = {{"KV pages", 1 << 20, 5}, {"weights", 3, 3}};
  sent.requests = {{"a", "Chat", "reading", {1000, 77}, 5, 0, 0.5}, {"b", "HTTP", "writing", {}, 5, 6, 1}};
  sent.accounts = {{std::nullopt, 1, 0, 0, 0, 0, 0, 0}, {4294967294, 1, 2, 3, 4, 5, 6, 7}};
  const auto status = read_status_reply(received(status_reply(sent, false)).parameters);
  CHECK(status.version == "0.1.0");
  CHECK(status.state == "starting");
  CHECK(status.model.empty());
  CHECK(status.uptime_seconds == 1.5);
  CHECK(status.refused == UINT64_MAX);
  REQUIRE(status.memory.size() == 2);
  CHECK(status.memory[0].name == "KV pages");
  CHECK(status.memory[0].used == 5);
  CHECK(status.cache.evicted == 4);
  CHECK(status.cache.reused_tokens == UINT64_MAX);
  CHECK(status.lanes == 16);
  CHECK(status.queue == 64);
  REQUIRE(status.requests.size() == 2);
  CHECK(status.requests[0].state == "reading");
  CHECK(status.requests[0].caller.uid == 1000);
  CHECK(status.requests[0].caller.pid == 77);
  CHECK_FALSE(status.requests[1].caller.uid);
  CHECK(status.requests[1].reply_tokens == 6);
  REQUIRE(status.accounts.size() == 2);
  CHECK_FALSE(status.accounts[0].uid);
  CHECK(status.accounts[1].uid == 4294967294);
  CHECK(status.accounts[1].reply_tokens == 7);
  CHECK(received(status_reply(sent, true)).continues);
}

TEST_CASE("tokens arrive as they were sent, a million of them too") {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 1'000'000; ++i) tokens.push_back(i * 151);
  tokens.back() = INT32_MAX;
  const std::string reply = tokens_reply(tokens);
  CHECK(reply.size() < most_message_bytes);
  CHECK(read_tokens_reply(received(reply).parameters) == tokens);
  CHECK(read_tokens_reply(received(tokens_reply({})).parameters).empty());
  CHECK_THROWS_AS(read_tokens_reply(R"({"tokens":[-1]})"), ProtocolError);
  CHECK_THROWS_AS(read_tokens_reply(R"({"tokens":["1"]})"), ProtocolError);
  CHECK(received(empty_reply()).parameters == "{}");
}

TEST_CASE("errors arrive as they were sent, fields in the protocol's spelling") {
  const auto error_of = [](const Error& error) { return *received(error_reply(error)).error; };
  CHECK(error_of({Error::Kind::busy, "full"}).kind == Error::Kind::busy);
  CHECK(error_of({Error::Kind::not_ready, "starting"}).message == "starting");
  CHECK(error_of({Error::Kind::device_fault, "broken"}).kind == Error::Kind::device_fault);
  const Error overflow = error_of({Error::Kind::context_overflow, "", "", 2048, 3000});
  CHECK(overflow.limit == 2048);
  CHECK(overflow.given == 3000);
  CHECK(error_of({Error::Kind::cancelled, "by uid 0"}).kind == Error::Kind::cancelled);
  CHECK(error_of({Error::Kind::no_such_request, "", "x_y"}).field == "x_y");
  CHECK(error_of({Error::Kind::bad_request, "m", "max_tokens"}).field == "maxTokens");
  CHECK(error_of({Error::Kind::bad_request, "m", "messages[0].top_k_"}).field == "messages[0].topK_");
  const auto foreign =
      read_reply(R"({"error":"org.varlink.service.MethodNotFound","parameters":{"method":"Chat"}})").error;
  CHECK(foreign->kind == Error::Kind::other);
  CHECK(foreign->message == R"(org.varlink.service.MethodNotFound {"method":"Chat"})");
}

TEST_CASE("a reply that is not understood is told from one that is newer") {
  CHECK_NOTHROW(read_chat_reply(R"({"progress":{"read":1,"total":2,"eta":3}})"));
  CHECK_THROWS_AS(read_chat_reply(R"({"progress":{"read":1}})"), ProtocolError);
  CHECK_THROWS_AS(read_chat_reply("{}"), ProtocolError);
  CHECK_THROWS_AS(read_chat_reply(R"({"delta":{"content":1}})"), ProtocolError);
  CHECK_THROWS_AS(read_reply("nonsense"), ProtocolError);
  CHECK_THROWS_AS(read_models_reply(R"({"models":[{}]})"), ProtocolError);
}
