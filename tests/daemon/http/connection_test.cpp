#include "daemon/limits.h"
#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

const std::string hello = R"({"messages":[{"role":"user","content":"Hi"}]})";

RunningApp::Setup says_hello() {
  RunningApp::Setup setup;
  setup.engine.script.deltas = {text("Hel"), text("lo")};
  return setup;
}

std::string code(const HttpAnswer& answer) { return text_at(answer.json(), "error.code"); }

TEST_CASE("the routes, over TCP and over the Unix socket") {
  RunningApp app(says_hello());
  for (const bool tcp : {true, false}) {
    HttpClient client = tcp ? app.client() : app.unix_client();
    CHECK(text_at(client.get("/live").json(), "status") == "alive");
    CHECK(text_at(client.get("/health").json(), "status") == "ok");
    CHECK(text_at(client.get("/v1/models").json(), "data.0.id") == "fake");
    CHECK(text_at(client.get("/v1/models/fake").json(), "object") == "model");
    CHECK(text_at(client.get("/v1/models/default?x=1").json(), "id") == "fake");
    CHECK(code(client.get("/v1/models/other")) == "model_not_found");
    CHECK(client.get("/v1/models/").status == 404);
    CHECK(code(client.get("/nothing")) == "not_found");
    CHECK(client.get("http://localhost/live").status == 200);
    CHECK(client.get("/v1/chat/completions").status == 405);
    CHECK(client.post(hello).status == 200);
  }
}

TEST_CASE("the model's name: absent, its own or default; another is 404") {
  RunningApp app(says_hello());
  HttpClient client = app.client();
  const auto ask = [&](const std::string& model) {
    return client.post(R"({"model":)" + model + R"(,"messages":[{"role":"user","content":"Hi"}]})").status;
  };
  CHECK(ask("null") == 200);
  CHECK(ask("\"\"") == 200);
  CHECK(ask("\"fake\"") == 200);
  CHECK(ask("\"default\"") == 200);
  CHECK(ask("\"gpt-9\"") == 404);
}

TEST_CASE("HEAD has a header and no body; an unknown method is 405") {
  RunningApp app(says_hello());
  HttpClient client = app.client();
  client.send(
      "HEAD /live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string raw;
  while (raw.find("\"status\"") == std::string::npos) raw += client.receive_some(4096);
  CHECK(raw.find("Content-Length: 19\r\n\r\nHTTP/1.1 200 OK") != std::string::npos);
  HttpClient brewer = app.client();
  brewer.send("BREW /live HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(brewer.receive().status == 405);
}

TEST_CASE("F19 bodies of wrong JSON get 400 each and leave the connection usable") {
  RunningApp app(says_hello());
  HttpClient client = app.client();
  for (const std::string& body :
       {std::string(R"({"stream":"true"})"), std::string("{:"), std::string(), std::string("[]"),
        std::string(R"({"messages": {}})"), std::string(R"({"messages": []})"),
        std::string(R"({"messages": [null]})"), std::string("\xff\xfe"), std::string(100'000, '[')}) {
    const HttpAnswer answer = client.post(body);
    INFO(answer.body);
    CHECK(answer.status == 400);
    CHECK(text_at(answer.json(), "error.type") == "invalid_request_error");
    CHECK(!text_at(answer.json(), "error.message").empty());
  }
  CHECK(client.post(hello).status == 200);
}

TEST_CASE("F20 a request refused before its body is read does not break the next") {
  RunningApp app(says_hello());
  SECTION("a short body is drained, the connection goes on") {
    HttpClient client = app.client();
    const std::string body = "GET /live HTTP/1.1\r\n\r\n" + std::string(50'000, 'x');
    client.send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    CHECK(client.receive().status == 404);
    client.send(
        "POST /live HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET "
        "/\r\n0\r\n\r\n");
    CHECK(client.receive().status == 405);
    CHECK(client.post(hello).status == 200);
  }
  SECTION("a long one is not heard out: 413, Connection: close, and the answer arrives") {
    HttpClient client = app.client();
    client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n");
    client.try_send(std::string(3'000'000, 'x'));
    const HttpAnswer answer = client.receive();
    CHECK(answer.status == 413);
    CHECK(answer.headers.at("connection") == "close");
    client.shut_down_writing();
    CHECK(client.closed_by_server());
  }
  SECTION("a chunked body beyond the limit") {
    HttpClient client = app.client();
    client.send(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "100000\r\n" + std::string(0x100000, ' ') + "\r\n";
    for (int i = 0; i < 17; ++i)
      if (!client.try_send(chunk)) break;
    const HttpAnswer answer = client.receive();
    CHECK(answer.status == 413);
    CHECK(answer.headers.at("connection") == "close");
  }
  SECTION("a refused path with a long body closes") {
    HttpClient client = app.client();
    client.send("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n");
    const HttpAnswer answer = client.receive();
    CHECK(answer.status == 404);
    CHECK(answer.headers.at("connection") == "close");
  }
}

TEST_CASE("pipelined requests are answered in order") {
  RunningApp app(says_hello());
  HttpClient client = app.client();
  const std::string streamed = R"({"stream":true,"messages":[{"role":"user","content":"Hi"}]})";
  client.send(chat_request(hello) + "GET /live HTTP/1.1\r\n\r\n" + chat_request(streamed) +
              chat_request("{") + chat_request(hello));
  CHECK(text_at(client.receive().json(), "object") == "chat.completion");
  CHECK(text_at(client.receive().json(), "status") == "alive");
  CHECK(client.receive().events().back() == "[DONE]");
  CHECK(client.receive().status == 400);
  CHECK(client.receive().status == 200);
}

TEST_CASE("what is no request gets 400, a header beyond 16 KiB 431, and the connection closes") {
  RunningApp app(says_hello());
  for (const std::string& bytes :
       {std::string("hello\r\n\r\n"), std::string("GET /live HTTP/9.9\r\n\r\n"),
        std::string("GET /live HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -3\r\n\r\n"),
        std::string("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")}) {
    HttpClient client = app.client();
    client.send(bytes);
    const HttpAnswer answer = client.receive();
    INFO(bytes << answer.body);
    CHECK(answer.status == 400);
    CHECK(answer.headers.at("connection") == "close");
    CHECK(client.closed_by_server());
  }
  HttpClient client = app.client();
  client.send("GET /live HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  CHECK(client.receive().status == 431);
}

TEST_CASE("an error that repeats what the client sent is short and valid JSON") {
  RunningApp app(says_hello());
  HttpClient client = app.client();
  CHECK(text_at(client.get("/\xff\xfe").json(), "error.message") == "there is nothing at /\\xff\\xfe");
  CHECK(client.get("/v1/models/\xc3").status == 404);
  const auto ask = [&](const std::string& model) {
    return client.post(R"({"model":")" + model + R"(","messages":[{"role":"user","content":"Hi"}]})");
  };
  const HttpAnswer answer = ask(std::string(3 << 20, 'm'));
  CHECK(answer.status == 404);
  CHECK(answer.body.size() < 2 * daemon::limits::error_bytes);
  CHECK(text_at(answer.json(), "error.message").find("'fake' (or 'default') is") != std::string::npos);
  const std::string zero = text_at(ask("a\\u0000b").json(), "error.message");
  CHECK(zero.find("'a\\x00b' is not served") != std::string::npos);
  client.send("GET /live HTTP/1.1\r\nHost: \xff\r\n\r\n");
  CHECK(text_at(client.receive().json(), "error.code") == "host_not_allowed");
}

TEST_CASE("F22 Expect: 100-continue is answered at once, or refused without the body") {
  RunningApp app(says_hello());
  HttpClient client = app.client();
  const std::string head = "POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: ";
  client.send(head + std::to_string(hello.size()) + "\r\n\r\n");
  std::string interim;
  while (interim.find("\r\n\r\n") == std::string::npos) interim += client.receive_some(100);
  CHECK(interim == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(hello);
  CHECK(client.receive().status == 200);
  client.send("POST /nowhere HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  const HttpAnswer refused = client.receive();
  CHECK(refused.status == 404);
  CHECK(refused.headers.at("connection") == "close");
}

TEST_CASE("HTTP/1.0: no chunks, the connection ends the stream; keep-alive if asked for") {
  RunningApp app(says_hello());
  HttpClient client = app.client();
  client.send("GET /live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(client.receive().headers.at("connection") == "keep-alive");
  const std::string body = R"({"stream":true,"messages":[{"role":"user","content":"Hi"}]})";
  client.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body);
  std::string raw, more;
  while (!(more = client.receive_some(4096)).empty()) raw += more;
  CHECK(raw.find("Transfer-Encoding") == std::string::npos);
  HttpAnswer stream;
  stream.body = raw.substr(raw.find("\r\n\r\n") + 4);
  CHECK(stream.events().back() == "[DONE]");
}

TEST_CASE("F28 web pages and rebound names are turned away on TCP, not on the Unix socket") {
  RunningApp app(says_hello());
  const auto ask = [&](HttpClient client, const std::string& fields) {
    client.send("POST /v1/chat/completions HTTP/1.1\r\n" + fields +
                "Content-Type: text/plain\r\nContent-Length: " + std::to_string(hello.size()) + "\r\n\r\n" +
                hello);
    const HttpAnswer answer = client.receive();
    CHECK((answer.status == 200 || !answer.headers.contains("access-control-allow-origin")));
    return answer.status;
  };
  CHECK(ask(app.client(), "Host: localhost\r\nOrigin: https://evil.example\r\n") == 403);
  CHECK(ask(app.client(), "Host: localhost\r\nOrigin: null\r\n") == 403);
  CHECK(ask(app.client(), "Host: evil.example\r\n") == 403);
  CHECK(ask(app.client(), "Host: 127.0.0.1.evil.example:8420\r\n") == 403);
  CHECK(ask(app.client(), "Host: localhost.evil.example\r\n") == 403);
  CHECK(ask(app.client(), "") == 200);
  CHECK(ask(app.client(), "Host: LOCALHOST:8420\r\n") == 200);
  CHECK(ask(app.client(), "Host: 127.0.0.1:8420\r\nOrigin: http://localhost:3000\r\n") == 200);
  CHECK(ask(app.client(), "Host: [::1]:8420\r\n") == 200);
  CHECK(ask(app.unix_client(), "Host: evil.example\r\nOrigin: https://evil.example\r\n") == 200);
  HttpClient preflight = app.client();
  preflight.send(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n");
  CHECK(preflight.receive().status == 403);
}

TEST_CASE("F32 503 with Retry-After before the first token could be produced") {
  RunningApp::Setup setup = says_hello();
  setup.loading = std::chrono::milliseconds(500);
  setup.wait_until_ready = false;
  RunningApp app(setup);
  HttpClient client = app.client();
  const HttpAnswer health = client.get("/health");
  CHECK(health.status == 503);
  CHECK(text_at(health.json(), "status") == "loading");
  CHECK(client.get("/live").status == 200);
  const HttpAnswer early = client.post(hello);
  CHECK(early.status == 503);
  CHECK(early.headers.at("retry-after") == "2");
  CHECK(code(early) == "model_loading");
  CHECK(client.get("/v1/models").status == 503);
  CHECK(eventually([&] { return client.get("/health").status == 200; }));
  CHECK(client.post(hello).status == 200);
}

TEST_CASE("F77 requests beyond lanes and queue get 429 with Retry-After") {
  RunningApp::Setup setup = says_hello();
  setup.engine.lanes = 1;
  setup.engine.queue = 1;
  setup.engine.script.prefill = std::chrono::milliseconds(400);
  RunningApp app(setup);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(app.client());
  for (HttpClient& client : clients) client.send(chat_request(hello));
  std::map<int, int> statuses;
  for (HttpClient& client : clients) {
    const HttpAnswer answer = client.receive();
    ++statuses[answer.status];
    if (answer.status == 429) CHECK(answer.headers.at("retry-after") == "1");
  }
  CHECK(statuses[200] == 2);
  CHECK(statuses[429] == 10);
}

TEST_CASE("F77 one address has no more than its share of connections; another is served") {
  RunningApp app(says({text("a")}));
  std::vector<HttpClient> crowd;
  for (int i = 0; i < daemon::limits::address_connections; ++i) {
    crowd.push_back(app.client());
    crowd.back().send("G");  // a request that has begun: no idle connection, which would make place
  }
  HttpClient one_more = app.client();
  const HttpAnswer refused = one_more.receive();
  CHECK(refused.status == 503);
  CHECK(text_at(refused.json(), "error.code") == "too_many_connections");
  CHECK(one_more.closed_by_server());
  CHECK(HttpClient::tcp(app.port(), "127.0.0.2").get("/live").status == 200);
  CHECK(app.unix_client().get("/live").status == 200);
  crowd.pop_back();
  CHECK(eventually([&] {
    HttpClient client = app.client();
    return client.try_send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n") && client.receive().status == 200;
  }));
}

TEST_CASE("F27 health answers while every lane is busy and readers idle") {
  RunningApp::Setup setup = says_hello();
  setup.engine.script.prefill = std::chrono::minutes(10);
  RunningApp app(setup);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(app.client());
    clients.back().send(chat_request(hello));
  }
  REQUIRE(eventually([&] { return app.engine().status().active + app.engine().status().queued == 8; }));
  CHECK(app.client().get("/health").status == 200);
  CHECK(app.client().get("/v1/models").status == 200);
  CHECK(app.engine().status().active + app.engine().status().queued == 8);
  clients.clear();
  CHECK(eventually([&] { return app.engine().status().cancelled == 8; }));
}

}  // namespace
}  // namespace lockstep::test
