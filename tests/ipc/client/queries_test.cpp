#include <algorithm>
#include <csignal>
#include <functional>

#include "tests/catch.h"
#include "tests/ipc/client/program.h"
#include "tests/ipc/fake_daemon.h"
#include "tests/tools/temporary_directory.h"

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

// What a daemon does that tells these states, and then nothing more.
std::function<void(int)> tells(const std::vector<std::string>& states) {
  return [states](int client) {
    FakeDaemon::read_message(client);
    Status status;
    status.version = "0.1.0";
    for (const std::string& state : states) {
      status.state = state;
      FakeDaemon::send_all(client, status_reply(status, true));
    }
    FakeDaemon::read_message(client);
  };
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
  status.lanes = 16;
  status.queue = 64;
  status.served = 12;
  status.prompt_tokens = 345;
  status.cache.hits = 4;
  status.cache.reused_tokens = 99;
  status.memory = {{"weights", 31133416, 31133416}, {"KV pages", 2048, 0}};
  const std::string reply = status_reply(status, false);
  CHECK(query(reply, {"status"}).out ==
        "lockstepd 0.1.0, ready, up 1 h 2 min\n"
        "model     starter\n"
        "device    cpu\n"
        "now       1 of 16 answering, 0 of 64 waiting\n"
        "since     12 served, 0 cancelled, 0 refused, 0 failed\n"
        "tokens    345 read, 0 written, 0 rounds\n"
        "cache     4 hits, 0 misses, 99 tokens reused\n"
        "memory    weights: 30 MiB of 30 MiB used\n"
        "          KV pages: 0 B of 2.0 KiB used\n");
  const Run json = query(reply, {"status", "--json"});
  CHECK(json.out.substr(0, 36) == R"({"version":"0.1.0","state":"ready",")");
  CHECK(json.status == 0);
}

TEST_CASE("status lists the caller's requests") {
  Status status;
  status.requests = {{"chatcmpl-6977268e2ad1ef3d8ea70ffb", "Chat", "reading", {0, 77}, 1000000, 0, 61},
                     {"b", "HTTP", "writing", {}, 5, 6, 1}};
  const std::string out = query(status_reply(status, false), {"status"}).out;
  CHECK(out.substr(out.find("\n\n")) ==
        "\n\n"
        "request                            user  state     prompt  reply       time\n"
        "chatcmpl-6977268e2ad1ef3d8ea70ffb  root  reading  1000000      0  1 min 1 s\n"
        "b                                  TCP   writing        5      6        1 s\n");
}

TEST_CASE("status --watch tells every change, until the daemon stops") {
  Status first, second;
  first.state = "ready";
  second.state = "stopping";
  const std::string replies = status_reply(first, true) + status_reply(second, false);
  const Run text = query(replies, {"status", "--watch"});
  CHECK(text.out.find("ready, up") < text.out.find("stopping, up"));
  CHECK(text.out.find('\033') == std::string::npos);
  CHECK(text.status == 0);
  const Run json = query(replies, {"status", "--watch", "--json"});
  CHECK(std::count(json.out.begin(), json.out.end(), '\n') == 2);
  CHECK(json.out.find("\"state\":\"stopping\"") != std::string::npos);
}

TEST_CASE("status --watch draws over itself on a terminal, and ends tidily by Ctrl-C") {
  FakeDaemon daemon(tells({"ready", "stopping"}));
  const Run run = run_lockstep({"status", "--watch", "--socket", daemon.path()},
                               {.environment = {"TERM=xterm"}, .terminal = true, .interrupt_at = "stopping"});
  CHECK(run.out.find("\r\033[5A") != std::string::npos);
  CHECK(run.status == 130);
}

TEST_CASE("status --watch draws below what a shell has written when it goes on, and anew at another width") {
  FakeDaemon daemon(tells({"ready"}));
  const std::string end = "\x1b[K\r\n\x1b[J";
  const Run run = run_lockstep(
      {"status", "--watch", "--socket", daemon.path()},
      {.environment = {"TERM=xterm"},
       .terminal = true,
       .typed = {{end, "", 0, SIGCONT}, {end, "", 40}, {"cancelled, 0 refu\x1b[K\r\n", "\x03"}}});
  INFO(run.out);
  const size_t second = run.out.find(end) + end.size();
  CHECK(run.out.substr(second, 9) == "lockstepd");
  CHECK(run.out.find("\033[H\033[2Jlockstepd") != std::string::npos);
  CHECK(run.status == 130);
}

TEST_CASE("tokenize shows ids, their number, or the daemon's reply") {
  const std::string reply = tokens_reply({7, 0, 31});
  CHECK(query(reply, {"tokenize", "a", "b"}).out == "7 0 31\n");
  CHECK(query(reply, {"tokenize", "--count", "a"}).out == "3\n");
  CHECK(query(reply, {"tokenize", "--json", "a"}).out == "{\"tokens\":[7,0,31]}\n");
}

TEST_CASE("cancel says nothing when it is done, and what to do when there is nothing") {
  const Run done = query(empty_reply(), {"cancel", "x"});
  CHECK(done.out.empty());
  CHECK(done.status == 0);
  CHECK(query(empty_reply(), {"cancel", "x", "--json"}).out == "{}\n");
  const Run none = query(error_reply({Error::Kind::no_such_request, "", "x"}), {"cancel", "x"});
  CHECK(none.status == 1);
  CHECK(none.err == "lockstep: no request x of yours is in work (lockstep status lists them)\n");
  CHECK(run_lockstep({"cancel"}).status == 2);
}

TEST_CASE("models are shown for people and for programs") {
  const std::string reply =
      models_reply({{"starter", "qwen3_5", "ab12", 1, 2048, 16384, 0, "cpu", "2 CPUs"}});
  CHECK(query(reply, {"models"}).out ==
        "starter: qwen3_5, context 2048 tokens, canon 1\n  on cpu (2 CPUs)\n  fingerprint ab12\n");
  CHECK(query(reply, {"models", "--json"}).out.substr(0, 29) == R"({"models":[{"name":"starter",)");
}

TEST_CASE("snapshots are shown, or lockstepd is asked") {
  SnapshotList list{"/var/cache/lockstep", 3 << 20, 1 << 30, 1, 2, {{"0123abcd", 99, 1 << 20, 0, true}}};
  const Run shown = query(snapshots_reply(list), {"snapshots", "list"});
  CHECK(shown.status == 0);
  CHECK(shown.out.find("0123abcd") != std::string::npos);
  CHECK(shown.out.find("1 entries and 2 shared pages, 3.0 MiB of 1.0 GiB in /var/cache/lockstep\n") !=
        std::string::npos);
  CHECK(query(snapshots_reply({}), {"snapshots", "list"}).out ==
        "the daemon keeps no snapshots (lockstepd.toml(5): snapshots)\n");
  CHECK(query(snapshots_reply({"/var/cache/lockstep", 0, 1, 0, 0, {}}), {"snapshots", "list"}).out ==
        "nothing is kept yet in /var/cache/lockstep\n");
  const Run refused = query(error_reply({Error::Kind::permission_denied, {}, {}}), {"snapshots", "list"});
  CHECK(refused.status == 1);
  CHECK(refused.err == "lockstep: only root and the service's user may do this: try sudo\n");
  CHECK(run_lockstep({"snapshots"}).status == 2);
  CHECK(run_lockstep({"snapshots", "list", "a", "b"}).status == 2);
}

TEST_CASE("check shows what came of the laws") {
  const std::string going_on = law_reply({"drafted = undrafted", 1, 0, ""});
  const Run good = query(
      going_on + laws_reply({{"drafted = undrafted", 2, 0, ""}, {"a law", 0, 0, "no disk"}}), {"check"});
  CHECK(good.status == 0);
  CHECK(good.out.find("skipped: no disk") != std::string::npos);
  CHECK(good.out.find("all laws hold\n") != std::string::npos);
  const Run bad = query(laws_reply({{"drafted = undrafted", 1, 1, ""}}), {"check", "--trials", "2"});
  CHECK(bad.status == 5);
  CHECK(bad.out.find("A LAW IS BROKEN\n") != std::string::npos);
}

TEST_CASE("a reply of another kind is refused") {
  const Run run = query(models_reply({}), {"status"});
  CHECK(run.status == 1);
  CHECK(run.err == "lockstep: the daemon's reply is not understood: version is missing\n");
}

TEST_CASE("inspect, selftest and bench run lockstepd, wherever $PATH has it") {
  const lockstep::tools::TemporaryDirectory folder;
  const auto program = folder.path() / "lockstepd";
  lockstep::tools::write_file(program, "#!/bin/sh\necho \"$@\"\n[ $# = 2 ]\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::vector<std::string> environment{"PATH=" + folder.path().string() + ":/bin"};
  const Run text = run_lockstep({"inspect", "-x", "--", "-y"}, {.environment = environment});
  CHECK(text.status == 2);
  const Run one = run_lockstep({"inspect", "--", "-y"}, {.environment = environment});
  CHECK(one.out == "inspect ./-y\n");
  CHECK(one.status == 0);
  const Run json = run_lockstep({"inspect", "/m", "--json"}, {.environment = environment});
  CHECK(json.out == "inspect /m --json\n");
  CHECK(json.status == 1);
  CHECK(run_lockstep({"snapshots", "list", "d"}, {.environment = environment}).out == "snapshots list ./d\n");
  CHECK(run_lockstep({"snapshots", "verify"}, {.environment = environment}).out == "snapshots verify\n");
  const Run self_test = run_lockstep({"selftest", "--device", "cuda"}, {.environment = environment});
  CHECK(self_test.out == "--device cuda selftest\n");
  CHECK(run_lockstep({"bench", "kernels"}, {.environment = environment}).out == "bench kernels\n");
  const Run bench = run_lockstep({"bench", "cache", "--model", "/m"}, {.environment = environment});
  CHECK(bench.out == "--model /m bench cache\n");
  CHECK(run_lockstep({"bench"}, {.environment = environment}).status == 2);
  CHECK(run_lockstep({"selftest", "now"}, {.environment = environment}).status == 2);
  const Run none = run_lockstep({"inspect", "/m"}, {.environment = {"PATH=/nonexistent"}});
  CHECK(none.status == 1);
  CHECK(none.err == "lockstep: lockstepd, which reads checkpoints, is not in $PATH: install lockstepd\n");
}
