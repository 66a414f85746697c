#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;

const std::string hello = R"({"messages":[{"role":"user","content":"Hi"}]})";
const std::string streamed = R"({"stream":true,"messages":[{"role":"user","content":"Hi"}]})";

// One lane, a reply without end.
RunningApp::Setup endless() {
  RunningApp::Setup setup;
  setup.engine.lanes = 1;
  setup.engine.script.deltas = {text("again ")};
  setup.engine.script.a_token = 2ms;
  setup.engine.script.endless = true;
  return setup;
}

void cancels(RunningApp& app, HttpClient& client) {
  const auto before = app.engine().status().cancelled;
  client.close();
  CHECK(eventually([&] { return app.engine().status().cancelled == before + 1; }));
}

TEST_CASE("F25 a client that leaves has its request cancelled", "[disconnect]") {
  const bool stream = GENERATE(false, true);
  const bool tcp = GENERATE(true, false);
  CAPTURE(stream, tcp);
  RunningApp::Setup setup = endless();
  SECTION("while queued") {
    RunningApp app(setup);
    HttpClient running = app.client();
    running.send(chat_request(hello));
    HttpClient client = tcp ? app.client() : app.unix_client();
    client.send(chat_request(stream ? streamed : hello));
    REQUIRE(eventually([&] { return app.engine().status().queued == 1; }));
    cancels(app, client);
    CHECK(app.engine().status().active == 1);
    cancels(app, running);
  }
  SECTION("in prefill") {
    setup.engine.script.prefill = 60s;
    RunningApp app(setup);
    HttpClient client = tcp ? app.client() : app.unix_client();
    client.send(chat_request(stream ? streamed : hello));
    REQUIRE(eventually([&] { return app.engine().status().active == 1; }));
    cancels(app, client);
  }
  SECTION("decoding") {
    RunningApp app(setup);
    HttpClient client = tcp ? app.client() : app.unix_client();
    client.send(chat_request(stream ? streamed : hello));
    REQUIRE(eventually([&] { return app.engine().status().active == 1; }));
    std::this_thread::sleep_for(50ms);
    cancels(app, client);
    // The lane is free again.
    app.engine().set_script({{text("ok")}});
    CHECK(app.client().post(hello).status == 200);
  }
}

TEST_CASE("F25 a client that only stops writing gets its reply", "[disconnect]") {
  const bool stream = GENERATE(false, true);
  const bool tcp = GENERATE(true, false);
  CAPTURE(stream, tcp);
  RunningApp::Setup setup;
  setup.engine.script.deltas = {text("Hel"), text("lo")};
  setup.engine.script.prefill = 300ms;
  RunningApp app(setup);
  HttpClient client = tcp ? app.client() : app.unix_client();
  client.send(chat_request(stream ? streamed : hello));
  client.shut_down_writing();
  const HttpAnswer answer = client.receive();
  CHECK(answer.status == 200);
  CHECK(answer.body.find("lo") != std::string::npos);
  CHECK(app.engine().status().cancelled == 0);
  CHECK(app.engine().status().served == 1);
}

TEST_CASE("F25 a client that left behind pipelined requests is noticed", "[disconnect]") {
  RunningApp app(endless());
  HttpClient client = app.client();
  client.send(chat_request(hello) + chat_request(hello));
  REQUIRE(eventually([&] { return app.engine().status().active == 1; }));
  cancels(app, client);
  std::this_thread::sleep_for(100ms);
  CHECK(app.engine().status().active == 0);
}

TEST_CASE("a reader that does not read is cut off when its bridge is full", "[disconnect]") {
  RunningApp::Setup setup = endless();
  setup.engine.script.deltas = {text(std::string(20'000, 'x'))};
  setup.engine.script.a_token = 0ms;
  RunningApp app(setup);
  HttpClient client = app.client();
  client.send(chat_request(streamed));
  CHECK(eventually([&] { return app.engine().status().cancelled == 1; }));
  CHECK(app.client().get("/live").status == 200);
}

TEST_CASE("a reply sent whole may be long: nothing is cut off", "[disconnect]") {
  RunningApp::Setup setup;
  for (int i = 0; i < 300; ++i) setup.engine.script.deltas.push_back(text(std::string(20'000, 'x')));
  RunningApp app(setup);
  const HttpAnswer answer = app.client().post(hello);
  CHECK(text_at(answer.json(), "choices.0.message.content").size() == 300 * 20'000);
}

}  // namespace
}  // namespace lockstep::test
