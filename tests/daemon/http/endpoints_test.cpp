#include <cmath>

#include "daemon/http/routes.h"
#include "daemon/openai/chat_request.h"
#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::json::Value;

engine::Delta with_logprob(const std::string& content, float logprob) {
  engine::Delta delta = text(content);
  delta.logprobs = {{7, content, logprob, {{7, content, logprob}, {8, "x", -3.5f}}}};
  return delta;
}

TEST_CASE("a completion: its shape, echo, several prompts, the usage of each") {
  RunningApp app(says({text("Hel"), text("lo")}));
  HttpClient client = app.client();
  const Value plain = client.post("/v1/completions", R"({"prompt":"Say"})").json();
  CHECK(text_at(plain, "object") == "text_completion");
  CHECK(text_at(plain, "id").starts_with("cmpl-"));
  CHECK(text_at(plain, "choices.0.text") == "Hello");
  CHECK(text_at(plain, "choices.0.finish_reason") == "stop");
  CHECK(at(plain, "choices.0.logprobs").is_null());
  CHECK(text_at(plain, "usage.prompt_tokens") == "3");
  CHECK(text_at(plain, "lockstep.token_sha") == "0123456789ab");
  CHECK(text_at(client.post("/v1/completions", R"({"prompt":"Say ","echo":true})").json(),
                "choices.0.text") == "Say Hello");
  CHECK(text_at(client.post("/v1/completions", R"({"prompt":[83,97],"echo":true})").json(),
                "choices.0.text") == "SaHello");
  const Value four = client.post("/v1/completions", R"({"prompt":["a","bc"],"n":2,"echo":true})").json();
  REQUIRE(at(four, "choices").array()->size() == 4);
  CHECK(text_at(four, "choices.1.text") == "aHello");
  CHECK(text_at(four, "choices.2.text") == "bcHello");
  CHECK(text_at(four, "choices.3.index") == "3");
  CHECK(text_at(four, "usage.prompt_tokens") == "3");
  CHECK(text_at(four, "usage.completion_tokens") == "8");
  CHECK(client.post("/v1/completions", R"({"prompt":""})").status == 200);
  CHECK(text_at(client.post("/v1/completions", R"({"prompt":")" + std::string(2000, 'x') + "\"}").json(),
                "error.param") == "prompt");
}

TEST_CASE("F08 completions: log-probabilities are four parallel arrays") {
  RunningApp app(says({with_logprob("ü", -0.5f), with_logprob("b", -1)}));
  HttpClient client = app.client();
  const Value whole = client.post("/v1/completions", R"({"prompt":"a","logprobs":2})").json();
  CHECK(text_at(whole, "choices.0.logprobs.tokens.0") == "ü");
  CHECK(text_at(whole, "choices.0.logprobs.token_logprobs.1") == "-1");
  CHECK(text_at(whole, "choices.0.logprobs.top_logprobs.0.x") == "-3.5");
  CHECK(text_at(whole, "choices.0.logprobs.text_offset.1") == "1");
  const HttpAnswer streamed = client.post("/v1/completions", R"({"prompt":"a","logprobs":2,"stream":true})");
  CHECK(text_at(daemon::json::parse(streamed.events().at(1)), "choices.0.logprobs.text_offset.0") == "1");
}

TEST_CASE("F08 an echoed prompt has log-probabilities in front of the reply's, null for its first token") {
  engine::Delta prompt;
  prompt.prompt = {{97, "a", std::nanf(""), {}}, {98, "b", -2, {{120, "x", -3.5f}}}};
  RunningApp app(says({prompt, with_logprob("ü", -0.5f)}));
  HttpClient client = app.client();
  const std::string body = R"({"prompt":"ab","echo":true,"logprobs":1)";
  const Value whole = client.post("/v1/completions", body + "}").json();
  CHECK(text_at(whole, "choices.0.text") == "abü");
  CHECK(at(whole, "choices.0.logprobs.token_logprobs.0").is_null());
  CHECK(at(whole, "choices.0.logprobs.top_logprobs.0").is_null());
  CHECK(text_at(whole, "choices.0.logprobs.token_logprobs.1") == "-2");
  CHECK(text_at(whole, "choices.0.logprobs.top_logprobs.1.x") == "-3.5");
  CHECK(text_at(whole, "choices.0.logprobs.tokens.2") == "ü");
  CHECK(text_at(whole, "choices.0.logprobs.text_offset.2") == "2");
  const HttpAnswer streamed = client.post("/v1/completions", body + R"(,"stream":true})");
  const Value first = daemon::json::parse(streamed.events().at(0));
  CHECK(text_at(first, "choices.0.text") == "ab");
  CHECK(at(first, "choices.0.logprobs.tokens").array()->size() == 2);
  const Value second = daemon::json::parse(streamed.events().at(1));
  CHECK(text_at(second, "choices.0.text") == "ü");
  CHECK(text_at(second, "choices.0.logprobs.text_offset.0") == "2");
}

TEST_CASE("a streamed completion joins to the whole one; the usage comes if it is asked for") {
  RunningApp app(says({text("Gr"), text(""), text("üß")}));
  HttpClient client = app.client();
  const HttpAnswer answer = client.post(
      "/v1/completions",
      R"({"prompt":"a","echo":true,"stream":true,"n":2,"stream_options":{"include_usage":true}})");
  const std::vector<std::string> events = answer.events();
  REQUIRE(events.back() == "[DONE]");
  std::map<std::string, std::string> texts;
  int finishes = 0;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Value chunk = daemon::json::parse(events[i]);
    const bool last = i + 2 == events.size();
    CHECK(at(chunk, "choices").array()->size() == (last ? 0 : 1));
    CHECK((chunk.find("usage") != nullptr) == last);
    CHECK((chunk.find("lockstep") != nullptr) == last);
    if (last) continue;
    texts[text_at(chunk, "choices.0.index")] += text_at(chunk, "choices.0.text");
    finishes += !at(chunk, "choices.0.finish_reason").is_null();
  }
  CHECK(texts == std::map<std::string, std::string>{{"0", "aGrüß"}, {"1", "aGrüß"}});
  CHECK(finishes == 2);
}

TEST_CASE("F09 n replies have indices and seeds of their own; n: 0 is refused before any stream") {
  RunningApp app(says({text("Hel"), text("lo")}));
  HttpClient client = app.client();
  const auto body = [](const std::string& fields) {
    return "{" + fields + R"("messages":[{"role":"user","content":"Hi"}]})";
  };
  const Value three = client.post(body(R"("n":3,"seed":5,)")).json();
  REQUIRE(at(three, "choices").array()->size() == 3);
  for (const char* i : {"0", "1", "2"}) {
    const std::string choice = std::string("choices.") + i;
    CHECK(text_at(three, choice + ".index") == i);
    CHECK(text_at(three, choice + ".message.content") == "Hello");
    CHECK(text_at(three, choice + ".finish_reason") == "stop");
  }
  CHECK(text_at(three, "choices.0.lockstep.seed") == "5");
  CHECK(text_at(three, "choices.2.lockstep.seed") == "7");
  CHECK(text_at(three, "usage.prompt_tokens") == "8");
  CHECK(text_at(three, "usage.completion_tokens") == "6");
  const HttpAnswer streamed = client.post(body(R"("n":2,"stream":true,)"));
  std::map<std::string, std::string> texts;
  std::map<std::string, int> finishes;
  const std::vector<std::string> events = streamed.events();
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Value chunk = daemon::json::parse(events[i]);
    const std::string index = text_at(chunk, "choices.0.index");
    if (const Value* content = at(chunk, "choices.0.delta").find("content"))
      texts[index] += *content->string();
    finishes[index] += !at(chunk, "choices.0.finish_reason").is_null();
  }
  CHECK(texts == std::map<std::string, std::string>{{"0", "Hello"}, {"1", "Hello"}});
  CHECK(finishes == std::map<std::string, int>{{"0", 1}, {"1", 1}});
  const HttpAnswer none = client.post(body(R"("n":0,"stream":true,)"));
  CHECK(none.status == 400);
  CHECK(text_at(none.json(), "error.param") == "n");
  CHECK(client.post(body("")).status == 200);
}

TEST_CASE("F24 one failed reply of several ends the stream with one error; F77 all or none are queued") {
  RunningApp::Setup setup = says({text("a"), text("b")});
  setup.engine.lanes = 2;
  setup.engine.queue = 2;
  setup.engine.script.fail_after = 1;
  RunningApp app(setup);
  HttpClient client = app.client();
  const HttpAnswer answer =
      client.post(R"({"n":2,"stream":true,"messages":[{"role":"user","content":"Hi"}]})");
  const std::vector<std::string> events = answer.events();
  CHECK(events.back() == "[DONE]");
  CHECK(text_at(daemon::json::parse(events.at(events.size() - 2)), "error.code") == "engine_failed");
  app.engine().set_script({{text("a")}});
  HttpClient second = app.client();
  CHECK(second.post(R"({"n":5,"messages":[{"role":"user","content":"Hi"}]})").status == 429);
  CHECK(eventually([&] { return app.engine().status().active + app.engine().status().queued == 0; }));
  CHECK(second.post(R"({"n":2,"messages":[{"role":"user","content":"Hi"}]})").status == 200);
}

TEST_CASE("tokenize, detokenize, apply-template") {
  RunningApp app(says({}));
  HttpClient client = app.client();
  const Value tokens = client.post("/tokenize", R"({"content":"ab"})").json();
  CHECK(text_at(tokens, "count") == "2");
  CHECK(text_at(tokens, "tokens.1") == "98");
  CHECK(text_at(tokens, "max_model_len") == "1000");
  CHECK(text_at(client.post("/tokenize", R"({"prompt":"abc","model":"fake"})").json(), "count") == "3");
  CHECK(text_at(client.post("/tokenize", R"({"messages":[{"role":"user","content":"Hi"}]})").json(),
                "count") == "8");
  CHECK(text_at(client.post("/detokenize", R"({"tokens":[72,105]})").json(), "content") == "Hi");
  CHECK(text_at(client.post("/apply-template", R"({"messages":[{"role":"user","content":"Hi"}]})").json(),
                "prompt") == "user:Hi\n");
  const auto param = [&](const std::string& path, const std::string& body) {
    const HttpAnswer answer = client.post(path, body);
    CHECK(answer.status == 400);
    return text_at(answer.json(), "error.param");
  };
  CHECK(param("/tokenize", "{}") == "content");
  CHECK(param("/tokenize", R"({"content":1})") == "content");
  CHECK(param("/tokenize", R"({"content":"a","parse_special":1})") == "parse_special");
  CHECK(param("/detokenize", "{}") == "tokens");
  CHECK(param("/detokenize", R"({"tokens":[256]})") == "tokens");
  CHECK(param("/detokenize", R"({"tokens":"a"})") == "tokens");
  CHECK(param("/apply-template", R"({"messages":[{"role":"user","content":"refuse me"}]})") == "messages");
  CHECK(client.post("/tokenize", R"({"content":"a","model":"other"})").status == 404);
  CHECK(client.post("/tokenize", "[]").status == 400);
  CHECK(client.get("/tokenize").status == 405);
}

TEST_CASE("F40 a special token's name is text unless asked for, in /tokenize and completions") {
  RunningApp app(says({text("a")}));
  HttpClient client = app.client();
  CHECK(text_at(client.post("/tokenize", R"({"content":"<s>a"})").json(), "count") == "4");
  CHECK(text_at(client.post("/tokenize", R"({"content":"<s>a","parse_special":true})").json(), "count") ==
        "2");
  CHECK(text_at(client.post("/v1/completions", R"({"prompt":"<s>a"})").json(), "usage.prompt_tokens") == "4");
  CHECK(text_at(client.post("/v1/completions", R"({"prompt":"<s>a","parse_special":true})").json(),
                "usage.prompt_tokens") == "2");
}

TEST_CASE("metrics count requests by route, code and key, tokens, times and memory") {
  RunningApp app(says({text("a"), text("b")}));
  HttpClient client = app.client();
  client.post(R"({"messages":[{"role":"user","content":"Hi"}]})");
  client.get("/nothing/\"x\"");
  client.get("/v1/models/fake");
  const HttpAnswer answer = client.get("/metrics");
  CHECK(answer.headers.at("content-type") == "text/plain; version=0.0.4");
  for (const char* line :
       {"lockstep_http_requests_total{route=\"/v1/chat/completions\",code=\"200\",key=\"\"} 1\n",
        "lockstep_http_requests_total{route=\"other\",code=\"404\",key=\"\"} 1\n",
        "lockstep_http_requests_total{route=\"/v1/models/\",code=\"200\",key=\"\"} 1\n",
        "lockstep_first_token_seconds_count 1\n", "lockstep_gap_seconds_count 1\n", "lockstep_ready 1\n",
        "lockstep_requests_total{end=\"served\"} 1\n", "lockstep_cache_lookups_total{kind=\"hit\"} 0\n",
        "lockstep_prompts_begun_total{from=\"disk\"} 0\n", "lockstep_cache_stops_total{why=\"evicted\"} 0\n",
        "lockstep_draft_guesses_total{depth=\"8\"} 0\n", "lockstep_draft_right_total{depth=\"1\"} 0\n"}) {
    INFO(line << answer.body);
    CHECK(answer.body.find(line) != std::string::npos);
  }
}

TEST_CASE("openapi.json has every path, and every field of each request") {
  RunningApp app(says({}));
  HttpClient client = app.client();
  const Value paths = at(client.get("/openapi.json").json(), "paths");
  for (const daemon::http::Endpoint& endpoint : daemon::http::endpoints()) CHECK(paths.find(endpoint.path));
  for (const daemon::http::Utility& utility : daemon::http::utilities()) CHECK(paths.find(utility.path));
  for (const daemon::http::Answer& answer : daemon::http::answers())
    CHECK(paths.find(std::string(answer.path) + (answer.path.ends_with('/') ? "{id}" : "")));
  const Value& chat = *paths.find("/v1/chat/completions");
  const Value& properties = at(chat, "post.requestBody.content.application/json.schema.properties");
  for (const daemon::openai::Field& field : daemon::openai::chat_fields()) CHECK(properties.find(field.name));
  // Every path that it names is there, and no other method of it is.
  for (const auto& [path, operations] : *paths.object()) {
    std::string target = path;
    if (target.ends_with("{id}")) target.replace(target.size() - 4, 4, "fake");
    for (const char* method : {"get", "post", "delete"}) {
      std::string name(method);
      for (char& c : name) c = static_cast<char>(c & ~0x20);
      client.send(name + " " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
      const int status = client.receive().status;
      INFO(name << " " << target << " " << status);
      CHECK((status == 405) == (operations.find(method) == nullptr));
    }
  }
}

}  // namespace
}  // namespace lockstep::test
