#include "ipc/client/commands.h"

#include <poll.h>

#include <csignal>
#include <fstream>

#include "tests/catch.h"
#include "tests/ipc/client/program.h"
#include "tests/ipc/fake_daemon.h"

using namespace lockstep::ipc;
using lockstep::tests::FakeDaemon;
using lockstep::tests::Run;
using lockstep::tests::run_lockstep;
using lockstep::tests::Setting;

namespace {

Final final_of(const char* finish) {
  Final final;
  final.finish = finish;
  final.reply_tokens = 7;
  final.token_sha = "ab";
  final.model = "m";
  final.fingerprint = "f";
  return final;
}

std::string content(const char* text) { return delta_reply({text, "", {}}); }

// What the program does when the daemon answers with these bytes, and what it asked.
struct Asked {
  Run run;
  std::string call;
};
Asked ask_with(const std::string& replies, std::vector<std::string> words, const Setting& setting = {}) {
  Asked asked;
  {
    FakeDaemon daemon([&](int client) {
      asked.call = FakeDaemon::read_message(client);
      FakeDaemon::send_all(client, replies);
    });
    words.insert(words.begin(), {"ask", "--socket", daemon.path()});
    asked.run = run_lockstep(words, setting);
  }
  return asked;
}

Chat chat_of(const std::string& call) { return std::get<Chat>(std::get<Call>(read_call(call, "")).what); }

// The client of this connection has gone, within ten seconds.
bool hangs_up(int client) {
  pollfd events{client, 0, 0};
  return ::poll(&events, 1, 10'000) == 1 && (events.revents & POLLHUP);
}

}  // namespace

TEST_CASE("nothing but the answer is on standard output") {
  const auto [run, call] = ask_with(
      progress_reply({1, 2}) + content("Hello,\n") + content("w\u00f6rld") + final_reply(final_of("stop")),
      {"Hi", "there"});
  CHECK(run.out == "Hello,\nw\u00f6rld\n");
  CHECK(run.err.empty());
  CHECK(run.status == 0);
  CHECK(chat_of(call).messages.size() == 1);
  CHECK(chat_of(call).messages[0].content == "Hi there");
  CHECK(call.find("\"more\":true") != std::string::npos);
}

TEST_CASE("standard input is the context of the question") {
  const std::string replies = final_reply(final_of("stop"));
  CHECK(chat_of(ask_with(replies, {"What is it?"}, {"line\n\n", {}}).call).messages[0].content ==
        "line\n\nWhat is it?");
  CHECK(chat_of(ask_with(replies, {}, {"only this\n", {}}).call).messages[0].content == "only this");
  CHECK(run_lockstep({"ask", "--socket", "/nonexistent"}).status == 2);
  const Run binary = run_lockstep({"ask", "--socket", "/nonexistent", "x"}, {"\xFF\xFE", {}});
  CHECK(binary.status == 1);
  CHECK(binary.err == "lockstep: standard input is not UTF-8 text\n");
}

TEST_CASE("options reach the daemon") {
  const auto [run, call] = ask_with(final_reply(final_of("stop")),
                                    {"--system=Be brief", "--max-tokens", "5", "--temperature", "0", "--seed",
                                     "18446744073709551615", "--think", "--", "--odd", "question"});
  const Chat chat = chat_of(call);
  REQUIRE(chat.messages.size() == 2);
  CHECK(chat.messages[0].content == "Be brief");
  CHECK(chat.messages[1].content == "--odd question");
  CHECK(chat.max_tokens == 5);
  CHECK(chat.temperature == 0.0);
  CHECK(chat.seed == UINT64_MAX);
  CHECK(chat.thinking == true);
}

TEST_CASE("thoughts go to standard error") {
  const auto [run, call] = ask_with(delta_reply({"", "Let me ", {}}) + delta_reply({"", "see.", {}}) +
                                        content("42") + final_reply(final_of("stop")),
                                    {"--think", "x"});
  CHECK(run.out == "42\n");
  CHECK(run.err == "Let me see.\n");
}

TEST_CASE("an answer that was cut off says so") {
  const auto [run, call] = ask_with(content("a") + final_reply(final_of("length")), {"x"});
  CHECK(run.out == "a\n");
  CHECK(run.err ==
        "lockstep: the answer was cut off after 7 tokens: --max-tokens or the model's context was reached\n");
  CHECK(run.status == 0);
}

TEST_CASE("calls of functions are JSON lines") {
  const std::string tools = "/tmp/lockstep-test-tools-" + std::to_string(::getpid()) + ".json";
  std::ofstream(tools) << R"([{"type":"function","n":123456789012345678901}])";
  const auto [run, call] = ask_with(content("Wait") + delta_reply({"", "", {{0, "f", "{\"a\":"}}}) +
                                        delta_reply({"", "", {{0, "", "1}"}, {1, "g", "{\"cut"}}}) +
                                        final_reply(final_of("tool_calls")),
                                    {"--tools", tools, "x"});
  std::filesystem::remove(tools);
  CHECK(run.out ==
        "Wait\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n{\"name\":\"g\",\"arguments\":\"{\\\"cut\"}\n");
  CHECK(chat_of(call).tools == std::vector<std::string>{R"({"type":"function","n":123456789012345678901})"});
}

TEST_CASE("with --json the program prints the daemon's final reply") {
  Final final = final_of("stop");
  final.whole = Whole{"text", "", {}};
  const auto [run, call] = ask_with(final_reply(final), {"--json", "x"});
  CHECK(run.out.substr(0, 33) == R"({"content":"text","toolCalls":[],)");
  CHECK(run.out.back() == '\n');
  CHECK(call.find("\"more\"") == std::string::npos);
}

TEST_CASE("ask --receipt writes what the daemon gave, whole or not at all") {
  const std::string file = "/tmp/lockstep-test-receipt-" + std::to_string(::getpid());
  Final final = final_of("stop");
  const auto asked = [&](std::vector<std::string> words) {
    return ask_with(content("Hello") + final_reply(final), std::move(words)).run;
  };
  std::ofstream(file) << "before";
  const Run without = asked({"--receipt", file, "x"});
  CHECK(without.status == 1);
  CHECK(without.err == "lockstep: prompt and answer have more tokens than a receipt can: 190000\n");
  const auto read = [&] {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(read() == "before");
  final.receipt.emplace();
  final.receipt->model = "m";
  final.receipt->reply = {5, 6};
  final.receipt->tools = {R"({"n":123456789012345678901})"};
  const Run with = asked({"--receipt", file, "x"});
  CHECK(with.status == 0);
  CHECK(with.out == "Hello\n");
  CHECK(read() == receipt_text(*final.receipt) + "\n");
  final.whole.emplace();
  CHECK(ask_with(final_reply(final), {"--tokens", "x"}).run.out == "5 6\n");
  std::filesystem::remove(file);
  CHECK(run_lockstep({"ask", "--socket", "/nonexistent", "--receipt", "/nonexistent/file", "x"}).status == 1);
  CHECK(run_lockstep({"ask", "--socket", "/nonexistent", "--tokens", "--json", "x"}).status == 2);
}

TEST_CASE("verify says equal, or what differs, each with a status of its own") {
  const std::string file = "/tmp/lockstep-test-receipt-" + std::to_string(::getpid());
  std::ofstream(file) << "{}";
  const auto verified = [&](const std::string& replies, std::vector<std::string> words) {
    Asked asked;
    {
      FakeDaemon daemon([&](int client) {
        asked.call = FakeDaemon::read_message(client);
        FakeDaemon::send_all(client, replies);
      });
      words.insert(words.begin(), {"verify", "--socket", daemon.path()});
      asked.run = run_lockstep(words);
    }
    return asked;
  };
  Verdict verdict;
  verdict.equal = true;
  const auto [equal, call] = verified(progress_reply({1, 2}) + verdict_reply(verdict), {file});
  CHECK(equal.out == "equal\n");
  CHECK(equal.status == 0);
  CHECK(call.find(R"("parameters":{"receipt":{}})") != std::string::npos);
  verdict = {false, 3, 7, std::nullopt, 1, 2, "cpu", 0.5};
  const Run different = verified(verdict_reply(verdict), {file}).run;
  CHECK(different.out == "different at position 3: the receipt has token 7, this machine computes the end\n");
  CHECK(different.status == 5);
  CHECK(verified(verdict_reply(verdict), {"--json", file}).run.status == 5);
  const Run refused = verified(error_reply({Error::Kind::bad_request, "of another model", "x"}), {file}).run;
  CHECK(refused.status == 1);
  CHECK(refused.err == "lockstep: refused: of another model\n");
  std::ofstream(file) << "[]";
  CHECK(run_lockstep({"verify", "--socket", "/nonexistent", file}).status == 1);
  std::filesystem::remove(file);
  CHECK(run_lockstep({"verify", "--socket", "/nonexistent", file}).status == 1);
  CHECK(run_lockstep({"verify"}).status == 2);
}

TEST_CASE("what failed is said in one line, with what to do and a status of its own") {
  const auto failure = [](const std::string& replies) {
    const Run run = ask_with(replies, {"x"}).run;
    return std::to_string(run.status) + " " + run.out + run.err;
  };
  CHECK(failure(error_reply({Error::Kind::busy, "64 wait"})) ==
        "4 lockstep: the daemon is busy, try again later: 64 wait\n");
  CHECK(failure(error_reply({Error::Kind::not_ready, "loading"})) ==
        "4 lockstep: the daemon is not ready, try again later: loading\n");
  CHECK(failure(error_reply({Error::Kind::context_overflow, "", "", 2048, 3000})) ==
        "1 lockstep: the question and its context have 3000 tokens, the model takes 2048: shorten them\n");
  CHECK(failure(error_reply({Error::Kind::bad_request, "'temperature' must be at least 0", "temperature"})) ==
        "1 lockstep: refused: 'temperature' must be at least 0\n");
  CHECK(failure(content("half") + error_reply({Error::Kind::device_fault, "lost"})) ==
        "1 half\nlockstep: the daemon failed: lost (journalctl -u lockstepd says more)\n");
  CHECK(failure(content("half")) ==
        "3 half\nlockstep: the daemon closed the connection before the reply was complete: journalctl -u "
        "lockstepd says why\n");
  CHECK(failure(std::string("nonsense\0", 9)).substr(0, 2) == "1 ");
  const Run absent = run_lockstep({"ask", "--socket", "/nonexistent/socket", "x"});
  CHECK(absent.status == 3);
  CHECK(absent.err ==
        "lockstep: no daemon listens on /nonexistent/socket: start it (systemctl start lockstepd), or name "
        "another "
        "socket with --socket\n");
}

TEST_CASE("the socket is found by option, variable, user and system") {
  const auto tried = [](const std::vector<std::string>& environment) {
    const std::string text = run_lockstep({"status"}, {"", environment}).err;
    return text.substr(0, text.find(": start"));
  };
  CHECK(tried({"LOCKSTEP_SOCKET=/nonexistent/a", "XDG_RUNTIME_DIR=/nonexistent"}) ==
        "lockstep: no daemon listens on /nonexistent/a");
  FakeDaemon daemon([](int) {});
  const std::string runtime = daemon.path().substr(0, daemon.path().rfind('/'));
  std::filesystem::create_directory(runtime + "/lockstep");
  std::ofstream(runtime + "/lockstep/org.lockstep.Inference") << "";
  CHECK(tried({"XDG_RUNTIME_DIR=" + runtime}) ==
        "lockstep: no daemon listens on " + runtime + "/lockstep/org.lockstep.Inference");
}

TEST_CASE("on a terminal progress is shown and erased, thoughts are dim, control characters harmless") {
  const std::string replies = progress_reply({512, 1024}) + delta_reply({"", "hm", {}}) +
                              content("a\x1B[2Jb\u009B\r") + final_reply(final_of("stop"));
  const Run run = ask_with(replies, {"x"}, {"", {"TERM=xterm"}, true}).run;
  CHECK(
      run.out ==
      "\r\033[Kreading: 512 of 1024 tokens (50%)\r\033[K\033[2mhm\033[0m\r\n\r\na\uFFFD[2Jb\uFFFD\uFFFD\r\n");
  const Run plain = ask_with(replies, {"x"}, {"", {"TERM=xterm", "NO_COLOR=1"}, true}).run;
  CHECK(plain.out ==
        "\r\033[Kreading: 512 of 1024 tokens (50%)\r\033[Khm\r\n\r\na\uFFFD[2Jb\uFFFD\uFFFD\r\n");
  const Run dumb = ask_with(replies, {"x"}, {"", {"TERM=dumb"}, true}).run;
  CHECK(dumb.out.find('\033') == std::string::npos);
}

TEST_CASE("an interrupt hangs up, leaves the terminal tidy and ends with 130") {
  for (const bool terminal : {false, true}) {
    bool hung_up = false;
    Run run;
    {
      FakeDaemon daemon([&](int client) {
        FakeDaemon::read_message(client);
        FakeDaemon::send_all(client, progress_reply({1, 2}) + content("some"));
        hung_up = hangs_up(client);
      });
      run = run_lockstep({"ask", "--socket", daemon.path(), "x"},
                         {"", {"TERM=xterm"}, terminal, false, "some"});
    }
    CHECK(hung_up);
    CHECK(run.status == 130);
    CHECK(run.out == (terminal ? "\r\033[Kreading: 1 of 2 tokens (50%)\r\033[Ksome\r\n" : "some"));
    CHECK(run.err.empty());
  }
}

TEST_CASE("without a standard output the answer goes nowhere else, and the program says so") {
  std::string stray;
  {
    FakeDaemon daemon([&](int client) {
      FakeDaemon::read_message(client);
      FakeDaemon::send_all(client, content("Hello") + final_reply(final_of("stop")));
      char bytes[64];
      const ssize_t got = ::read(client, bytes, sizeof bytes);
      if (got > 0) stray.assign(bytes, static_cast<size_t>(got));
    });
    const Run run = run_lockstep({"ask", "--socket", daemon.path(), "Hi"}, {.no_output = true});
    CHECK(run.status == 1);
    CHECK(run.err == "lockstep: the answer cannot be written: Bad file descriptor\n");
  }
  CHECK(stray.empty());
}

TEST_CASE("an error's name cannot move the cursor") {
  const std::string evil = R"({"error":"org.x.\u001b[2J","parameters":{}})" + std::string(1, '\0');
  const Run run = ask_with(evil, {"Hi"}).run;
  CHECK(run.err.find("org.x.") != std::string::npos);
  CHECK(run.err.find('\x1b') == std::string::npos);
}

TEST_CASE("a reader that has gone ends the program quietly, even before there is an answer") {
  bool hung_up = false;
  Run run;
  {
    FakeDaemon daemon([&](int client) {
      FakeDaemon::read_message(client);
      hung_up = hangs_up(client);
    });
    run = run_lockstep({"ask", "--socket", daemon.path(), "x"}, {"", {}, false, true});
  }
  CHECK(hung_up);
  CHECK(run.status == 128 + SIGPIPE);
  CHECK(run.err.empty());
}

TEST_CASE("complete continues the words, or standard input as it is") {
  const auto text_of = [](std::vector<std::string> words, const std::string& input) {
    std::string call;
    FakeDaemon daemon([&](int client) {
      call = FakeDaemon::read_message(client);
      FakeDaemon::send_all(client, content(" more") + final_reply(final_of("stop")));
    });
    words.insert(words.begin(), {"complete", "--socket", daemon.path()});
    const Run run = run_lockstep(words, {.input = input});
    CHECK(run.out == " more\n");
    CHECK(run.status == 0);
    return std::get<Complete>(std::get<Call>(read_call(call, "")).what);
  };
  const Complete words = text_of({"Once", "upon", "--stop", "time", "--max-tokens", "4"}, "not this");
  CHECK(words.prompt == "Once upon");
  CHECK(words.stop == std::vector<std::string>{"time"});
  CHECK(words.max_tokens == 4);
  CHECK(text_of({}, "as it is \n\n").prompt == "as it is \n\n");
  CHECK(run_lockstep({"complete"}).status == 2);
}
