#include "daemon/app.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using daemon::ExitStatus;

const std::string hello = R"({"messages":[{"role":"user","content":"Hi"}]})";
const std::string streamed = R"({"stream":true,"messages":[{"role":"user","content":"Hi"}]})";

RunningApp::Setup slow(std::chrono::milliseconds prefill) {
  RunningApp::Setup setup;
  setup.engine.script.deltas = {text("done")};
  setup.engine.script.prefill = prefill;
  return setup;
}

TEST_CASE("F84 a stop lets running requests finish, refuses new ones, and leaves nothing behind") {
  RunningApp app(slow(500ms));
  HttpClient idle = app.client(), running = app.client(), stream = app.unix_client();
  CHECK(idle.get("/live").status == 200);
  running.send(chat_request(hello));
  stream.send(chat_request(streamed));
  REQUIRE(eventually([&] { return app.engine().status().active == 2; }));
  app.terminate();
  CHECK(idle.closed_by_server());
  HttpClient late = app.client();
  const HttpAnswer refused = late.post(hello);
  CHECK(refused.status == 503);
  CHECK(text_at(refused.json(), "error.code") == "shutting_down");
  CHECK(refused.headers.contains("retry-after"));
  CHECK(text_at(app.client().get("/health").json(), "status") == "stopping");
  CHECK(text_at(running.receive().json(), "choices.0.message.content") == "done");
  CHECK(stream.receive().events().back() == "[DONE]");
  late.close();
  CHECK(app.wait() == ExitStatus::success);
  CHECK(!std::filesystem::exists(app.directory() / "run"));
  CHECK_THROWS(app.client());
}

TEST_CASE("F84 what does not finish in drain_seconds gets an error and the daemon ends") {
  RunningApp::Setup setup;
  setup.engine.script.deltas = {text("again ")};
  setup.engine.script.a_token = 5ms;
  setup.engine.script.endless = true;
  setup.drain = 1s;
  RunningApp app(setup);
  HttpClient whole = app.client(), stream = app.client();
  whole.send(chat_request(hello));
  stream.send(chat_request(streamed));
  REQUIRE(eventually([&] { return app.engine().status().active == 2; }));
  const auto begun = std::chrono::steady_clock::now();
  app.terminate();
  const HttpAnswer cut = whole.receive();
  CHECK(cut.status == 503);
  CHECK(text_at(cut.json(), "error.code") == "shutting_down");
  const std::vector<std::string> events = stream.receive().events();
  CHECK(events.back() == "[DONE]");
  CHECK(text_at(daemon::json::parse(events[events.size() - 2]), "error.code") == "shutting_down");
  whole.close();
  stream.close();
  CHECK(app.wait() == ExitStatus::success);
  CHECK(std::chrono::steady_clock::now() - begun < 3s);
}

TEST_CASE("F84 clients that hold their connections do not hold up the end") {
  RunningApp::Setup setup = slow(0ms);
  setup.drain = 1s;
  RunningApp app(setup);
  HttpClient idle = app.client();
  CHECK(idle.get("/live").status == 200);
  HttpClient half = app.client();
  half.send("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  const auto begun = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(50ms);
  app.terminate();
  app.wait();
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

TEST_CASE("F81 a lost device ends the daemon with a failure, so that it is started anew") {
  RunningApp app(slow(0ms));
  app.engine().set_fault("the test pulled the card");
  CHECK(app.wait() == ExitStatus::failure);
}

TEST_CASE(
    "F81 an engine that is stuck is noticed: requests get an error, and the daemon ends with a failure") {
  setenv("WATCHDOG_USEC", "2000000", 1);
  RunningApp app(slow(60s));
  unsetenv("WATCHDOG_USEC");
  HttpClient client = app.client();
  client.send(chat_request(hello));
  REQUIRE(eventually([&] { return app.engine().status().active == 1; }));
  app.engine().hang();
  const HttpAnswer answer = client.receive();
  CHECK(answer.status == 503);
  CHECK(text_at(answer.json(), "error.message") == "the engine is stuck: no step in 1500 ms");
  client.close();
  CHECK(app.wait() == ExitStatus::failure);
}

// run() on an engine that does not open.
ExitStatus failed_start(const std::filesystem::path& directory, const engine::StartError& error) {
  daemon::App app(test_configuration(directory / "run"),
                  [error](const auto&, const auto&) -> std::unique_ptr<engine::Engine> { throw error; });
  try {
    app.run();
  } catch (const daemon::StartFailure& failure) {
    CHECK(failure.what() == std::string(error.what()));
    return failure.status;
  }
  return ExitStatus::success;
}

TEST_CASE("a start that fails has its own exit status and leaves nothing behind") {
  using Kind = engine::StartError::Kind;
  TemporaryDirectory directory;
  CHECK(failed_start(directory.path, {Kind::model, "no model"}) == ExitStatus::model);
  CHECK(failed_start(directory.path, {Kind::device, "no device"}) == ExitStatus::device);
  CHECK(failed_start(directory.path, {Kind::memory, "no memory"}) == ExitStatus::memory);
  CHECK(std::filesystem::is_empty(directory.path));
}

std::string address_failure(daemon::Configuration configuration) {
  try {
    daemon::App app(std::move(configuration),
                    [](const auto&, const auto&) -> std::unique_ptr<engine::Engine> {
                      throw engine::StartError(engine::StartError::Kind::model, "the sockets were opened");
                    });
    app.run();
  } catch (const daemon::StartFailure& failure) {
    CHECK(failure.status == (failure.what() == std::string("the sockets were opened") ? ExitStatus::model
                                                                                      : ExitStatus::address));
    return failure.what();
  }
  return "";
}

TEST_CASE("F84 addresses that cannot be had: the reason, the remedy, nothing changed") {
  TemporaryDirectory directory;
  daemon::Configuration configuration = test_configuration(directory.path / "run");
  const auto path = directory.path / "run/http.sock";
  SECTION("the port is in use") {
    RunningApp app;
    configuration.listen = "127.0.0.1:" + std::to_string(app.port());
    CHECK_THAT(address_failure(configuration),
               Catch::Contains("Address already in use") && Catch::Contains("listen"));
    CHECK(!std::filesystem::exists(directory.path / "run"));
  }
  SECTION("no address at all") {
    for (const char* listen :
         {"8420", "localhost", "127.0.0.1:", "127.0.0.1:99999", "::1:80", "127.0.0.1:8x", ":8420"}) {
      configuration.listen = listen;
      CHECK_THAT(address_failure(configuration), Catch::Contains("is not ADDRESS:PORT"));
    }
  }
  SECTION("a running daemon has the socket") {
    RunningApp app;
    configuration.socket_dir = app.http_socket().parent_path();
    CHECK_THAT(address_failure(configuration), Catch::Contains("in use by a running lockstepd"));
    CHECK(app.unix_client().get("/live").status == 200);
  }
  SECTION("a file is in the socket's place") {
    std::filesystem::create_directory(directory.path / "run");
    fclose(fopen(path.c_str(), "w"));
    CHECK_THAT(address_failure(configuration), Catch::Contains("is not a socket"));
    CHECK(std::filesystem::is_regular_file(path));
  }
  SECTION("a socket that nobody listens on is replaced") {
    std::filesystem::create_directory(directory.path / "run");
    const int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(stale, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    close(stale);
    CHECK(address_failure(configuration) == "the sockets were opened");
    CHECK(!std::filesystem::exists(path));
    CHECK(std::filesystem::exists(directory.path / "run"));
  }
  SECTION("the path is too long") {
    configuration.socket_dir = directory.path / std::string(100, 'x');
    CHECK_THAT(address_failure(configuration),
               Catch::Contains("107") && Catch::Contains("shorter socket_dir"));
    CHECK(std::filesystem::is_empty(directory.path));
  }
  SECTION("the directory cannot be made") {
    configuration.socket_dir = directory.path / "missing/run";
    CHECK_THAT(address_failure(configuration), Catch::Contains("No such file or directory"));
  }
}

TEST_CASE("Unix sockets are for owner and group") {
  RunningApp app;
  struct stat about {};
  for (const auto& path : {app.http_socket(), app.local_socket()}) {
    REQUIRE(stat(path.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0660);
  }
}

}  // namespace
}  // namespace lockstep::test
