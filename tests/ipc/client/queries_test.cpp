#include "tests/catch.h"
#include "tests/ipc/client/program.h"
#include "tests/ipc/fake_daemon.h"

using namespace lockstep::ipc;
using lockstep::tests::FakeDaemon;
using lockstep::tests::Run;
using lockstep::tests::run_lockstep;

namespace {

Run query(const std::string& replies, std::vector<std::string> words) {
  FakeDaemon daemon([&](int client) {
    FakeDaemon::read_message(client);
    FakeDaemon::send_all(client, replies);
  });
  words.insert(words.end(), {"--socket", daemon.path()});
  return run_lockstep(words);
}

}  // namespace

TEST_CASE("status is shown for people and for programs") {
  Status status;
  status.version = "0.1.0";
  status.state = "ready";
  status.model = "starter";
  status.device = "cpu";
  status.uptime_seconds = 3725;
  status.active = 1;
  status.served = 12;
  status.prompt_tokens = 345;
  status.memory = {{"weights", 31133416, 31133416}, {"KV pages", 2048, 0}};
  const std::string reply = status_reply(status, false);
  CHECK(query(reply, {"status"}).out ==
        "lockstepd 0.1.0, ready, up 1 h 2 min\n"
        "model     starter\n"
        "device    cpu\n"
        "now       1 answering, 0 waiting\n"
        "since     12 served, 0 cancelled, 0 refused, 0 failed\n"
        "tokens    345 read, 0 written, 0 rounds\n"
        "memory    weights: 30 MiB of 30 MiB used\n"
        "          KV pages: 0 B of 2.0 KiB used\n");
  const Run json = query(reply, {"status", "--json"});
  CHECK(json.out.substr(0, 36) == R"({"version":"0.1.0","state":"ready",")");
  CHECK(json.status == 0);
}

TEST_CASE("models are shown for people and for programs") {
  const std::string reply =
      models_reply({{"starter", "qwen3_5", "ab12", 1, 2048, 16384, 0, "cpu", "2 CPUs"}});
  CHECK(query(reply, {"models"}).out ==
        "starter: qwen3_5, context 2048 tokens\n  on cpu (2 CPUs)\n  fingerprint ab12, canon 1\n");
  CHECK(query(reply, {"models", "--json"}).out.substr(0, 29) == R"({"models":[{"name":"starter",)");
}

TEST_CASE("a reply of another kind is refused") {
  const Run run = query(models_reply({}), {"status"});
  CHECK(run.status == 1);
  CHECK(run.err == "lockstep: the daemon's reply is not understood: version is missing\n");
}
