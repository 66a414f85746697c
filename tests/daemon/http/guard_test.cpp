#include "daemon/http/guard.h"

#include <csignal>
#include <fstream>

#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::StartFailure;
using daemon::http::Keys;

const std::string hello = R"({"messages":[{"role":"user","content":"Hi"}]})";
// As sha256sum(1) gives them for "secret-a" and "secret-b".
const std::string hash_a = "8766b9cb08e6040b704f1e3ee1e186efccf2635b1d2634d6525333007e6aeae1";
const std::string hash_b = "ff492ef788c89b555e6f738b33d2422f57dbb6656af2402155672c5f123a90af";

void write_file(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

RunningApp::Setup says_hello(std::function<void(daemon::Configuration&)> configure) {
  RunningApp::Setup setup;
  setup.engine.script.deltas = {text("Hello")};
  setup.configure = std::move(configure);
  return setup;
}

HttpAnswer ask(HttpClient client, const std::string& fields, const std::string& first = "GET /v1/models") {
  client.send(first + " HTTP/1.1\r\n" + fields + "\r\n");
  return client.receive();
}

TEST_CASE("a file of keys holds labels and hashes; what is wrong is told by its line") {
  TemporaryDirectory directory;
  const std::filesystem::path file = directory.path / "keys";
  write_file(file, "# comment\n\nalice " + hash_a + "\nbob-2\t " + hash_b + " \r\n");
  const Keys keys = Keys::read(file);
  CHECK(keys.size() == 2);
  CHECK(keys.label_of("secret-a") == "alice");
  CHECK(keys.label_of("secret-b") == "bob-2");
  CHECK(!keys.label_of("secret-c"));
  CHECK(!keys.label_of(""));
  CHECK(!keys.label_of(hash_a));
  const std::vector<std::string> wrong = {"alice secret-a",
                                          "alice " + hash_a + "00",
                                          "alice",
                                          "a b " + hash_a,
                                          hash_a,
                                          "\xff " + hash_a,
                                          std::string(65, 'x') + " " + hash_a,
                                          "alice " + hash_a.substr(0, 63) + "g"};
  for (const std::string& line : wrong) {
    write_file(file, "# first\n" + line + "\n");
    INFO(line);
    try {
      Keys::read(file);
      FAIL_CHECK("accepted");
    } catch (const StartFailure& failure) {
      CHECK(failure.status == daemon::ExitStatus::configuration);
      CHECK(std::string(failure.what()).starts_with(file.string() + ":2: "));
    }
  }
  CHECK_THROWS_AS(Keys::read(directory.path / "none"), StartFailure);
}

TEST_CASE("with keys TCP asks for one, but for /live and /health; Unix sockets do not") {
  TemporaryDirectory directory;
  write_file(directory.path / "keys", "alice " + hash_a + "\n");
  RunningApp app(says_hello([&](daemon::Configuration& c) { c.api_keys = directory.path / "keys"; }));
  CHECK(ask(app.client(), "", "GET /live").status == 200);
  CHECK(ask(app.client(), "", "GET /health").status == 200);
  const HttpAnswer without = ask(app.client(), "");
  CHECK(without.status == 401);
  CHECK(without.headers.at("www-authenticate") == "Bearer");
  CHECK(text_at(without.json(), "error.code") == "invalid_api_key");
  CHECK(ask(app.client(), "Authorization: Bearer secret-b\r\n").status == 401);
  CHECK(ask(app.client(), "Authorization: Bearer\r\n").status == 401);
  CHECK(ask(app.client(), "Authorization: Basic secret-a\r\n").status == 401);
  CHECK(ask(app.client(), "Authorization: Bearer " + hash_a + "\r\n").status == 401);
  CHECK(ask(app.client(), "Authorization: Bearer secret-a\r\n").status == 200);
  CHECK(ask(app.client(), "authorization: bearer  secret-a\r\n").status == 200);
  CHECK(ask(app.client(), "X-Api-Key: secret-a\r\n").status == 200);
  CHECK(ask(app.client(), "", "GET /nothing").status == 401);
  CHECK(ask(app.unix_client(), "").status == 200);

  SECTION("F20 a request refused for its key does not break the next; F22 nor is its body asked for") {
    HttpClient client = app.client();
    client.send(chat_request(hello));
    CHECK(client.receive().status == 401);
    client.send(chat_request(hello, "Authorization: Bearer secret-a\r\n"));
    CHECK(client.receive().status == 200);
    client.send(chat_request(hello, "Expect: 100-continue\r\n"));
    CHECK(client.receive().status == 401);
    CHECK(client.interim == 0);
  }
  SECTION("SIGHUP reads the keys again; a mistake leaves those that were known") {
    write_file(directory.path / "keys", "bob " + hash_b + "\n");
    CHECK(ask(app.client(), "Authorization: Bearer secret-a\r\n").status == 200);
    kill(getpid(), SIGHUP);
    CHECK(eventually([&] { return ask(app.client(), "Authorization: Bearer secret-b\r\n").status == 200; }));
    CHECK(ask(app.client(), "Authorization: Bearer secret-a\r\n").status == 401);
    write_file(directory.path / "keys", "nonsense\n");
    kill(getpid(), SIGHUP);
    std::filesystem::remove(directory.path / "keys");
    kill(getpid(), SIGHUP);
    CHECK(ask(app.client(), "Authorization: Bearer secret-b\r\n").status == 200);
  }
}

TEST_CASE("an address that others can reach needs keys") {
  TemporaryDirectory directory;
  daemon::Configuration configuration = test_configuration(directory.path / "run");
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    configuration.listen = address;
    INFO(address);
    try {
      daemon::App(configuration, [](const auto&, const auto&) { return nullptr; }).run();
      FAIL_CHECK("served");
    } catch (const StartFailure& failure) {
      CHECK(failure.status == daemon::ExitStatus::configuration);
      CHECK(std::string(failure.what()).find("needs API keys") != std::string::npos);
    }
    CHECK(!std::filesystem::exists(directory.path / "run"));
  }
}

TEST_CASE("F28 allowed hosts and origins, and what a page of those may see") {
  RunningApp app(says_hello([](daemon::Configuration& c) {
    c.allowed_hosts = {"box.lan"};
    c.allowed_origins = {"https://chat.example"};
  }));
  CHECK(ask(app.client(), "Host: box.lan:8420\r\n").status == 200);
  CHECK(ask(app.client(), "Host: BOX.lan\r\n").status == 200);
  CHECK(ask(app.client(), "Host: 192.168.1.7:8420\r\n").status == 200);
  CHECK(ask(app.client(), "Host: [fe80::1]\r\n").status == 200);
  CHECK(ask(app.client(), "Host: box.lan.evil.example\r\n").status == 403);
  CHECK(ask(app.client(), "Host: other.lan\r\n").status == 403);
  for (const char* origin : {"https://evil.example", "http://chat.example", "https://chat.example:444",
                             "https://chat.example.evil.example", "null"}) {
    const HttpAnswer refused = ask(app.client(), "Origin: " + std::string(origin) + "\r\n");
    INFO(origin);
    CHECK(refused.status == 403);
    CHECK(!refused.headers.contains("access-control-allow-origin"));
  }
  for (const char* origin : {"https://chat.example", "http://localhost:3000"}) {
    const std::string field = "Origin: " + std::string(origin) + "\r\n";
    const HttpAnswer seen = ask(app.client(), field);
    CHECK(seen.status == 200);
    CHECK(seen.headers.at("access-control-allow-origin") == origin);
    CHECK(ask(app.client(), field, "GET /nothing").headers.at("access-control-allow-origin") == origin);
    HttpClient client = app.client();
    client.send(chat_request(R"({"stream":true,"messages":[{"role":"user","content":"Hi"}]})", field));
    CHECK(client.receive().headers.at("access-control-allow-origin") == origin);
    const HttpAnswer preflight = ask(
        app.client(),
        field + "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n",
        "OPTIONS /v1/chat/completions");
    CHECK(preflight.status == 200);
    CHECK(preflight.headers.at("access-control-allow-headers") == "authorization");
    CHECK(preflight.headers.at("access-control-allow-methods") == "GET, POST, DELETE");
  }
}

}  // namespace
}  // namespace lockstep::test
