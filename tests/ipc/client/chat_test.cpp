#include <poll.h>
#include <sys/stat.h>

#include <filesystem>
#include <mutex>

#include "tests/catch.h"
#include "tests/ipc/client/program.h"
#include "tests/ipc/fake_daemon.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::ipc;
using lockstep::tests::FakeDaemon;
using lockstep::tests::Run;
using lockstep::tests::run_lockstep;
using lockstep::tests::Setting;
using lockstep::tools::TemporaryDirectory;

namespace {

// Answers each Chat with "reply N", and keeps what it was asked. To "wait" it begins and waits for the end.
class Conversing {
 public:
  std::vector<Chat> chats() {
    const std::lock_guard lock(mutex_);
    return chats_;
  }
  std::string path() const { return daemon_.path(); }

 private:
  void serve(int client) {
    const auto read = read_call(FakeDaemon::read_message(client), "");
    const auto& what = std::get<Call>(read).what;
    if (std::holds_alternative<ModelsQuery>(what))
      FakeDaemon::send_all(client, models_reply({{"small", "qwen3_5", "ab", 1, 2048, 9, 0, "cpu", ""}}));
    if (std::holds_alternative<Tokenize>(what)) FakeDaemon::send_all(client, tokens_reply({1, 2, 3}));
    if (const auto* chat = std::get_if<Chat>(&what)) answer(client, *chat);
  }
  void answer(int client, const Chat& chat) {
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      chats_.push_back(chat);
      text = "reply " + std::to_string(chats_.size());
    }
    const std::string& last = chat.messages.back().content;
    if (last == "busy") {
      FakeDaemon::send_all(client, error_reply({Error::Kind::busy, "too many"}));
      return;
    }
    Final final;
    final.finish = "stop";
    final.prompt_tokens = 7;
    final.reply_tokens = 3;
    final.seed = 5;
    FakeDaemon::send_all(client, accepted_reply({"x", 7}) + delta_reply({text, "", {}}));
    if (last == "wait") {
      pollfd gone{client, 0, 0};
      ::poll(&gone, 1, 10'000);
    } else {
      FakeDaemon::send_all(client, final_reply(final));
    }
  }

  std::mutex mutex_;
  std::vector<Chat> chats_;
  FakeDaemon daemon_{[this](int client) { serve(client); }};
};

std::vector<std::string> contents(const Chat& chat) {
  std::vector<std::string> out;
  for (const Message& message : chat.messages) out.push_back(message.role + ":" + message.content);
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("chat in a pipe: a line a message, nothing but the replies on standard output") {
  Conversing daemon;
  const Run run = run_lockstep({"chat", "--system", "Be brief.", "--seed", "9", "--socket", daemon.path()},
                               {.input = "Hi\n\n\"\"\"\ntwo\nlines\n\"\"\"\n/retry\nlast, without its end"});
  CHECK(run.out == "reply 1\nreply 2\nreply 3\nreply 4\n");
  CHECK(run.err.empty());
  CHECK(run.status == 0);
  const auto chats = daemon.chats();
  REQUIRE(chats.size() == 4);
  CHECK(contents(chats[0]) == Texts{"system:Be brief.", "user:Hi"});
  CHECK(contents(chats[2]) == Texts{"system:Be brief.", "user:Hi", "assistant:reply 1", "user:two\nlines"});
  CHECK(contents(chats[3]).back() == "user:last, without its end");
  CHECK(contents(chats[3])[4] == "assistant:reply 3");
  CHECK(chats[1].seed == 9);
  CHECK(chats[2].seed != 9);
  CHECK(chats[3].seed == 9);
  CHECK(chats[0].thinking == false);
}

TEST_CASE("chat: commands that keep, change and forget the conversation") {
  Conversing daemon;
  const TemporaryDirectory folder;
  const std::string file = (folder.path() / "saved").string();
  const Run run = run_lockstep({"chat", "--socket", daemon.path()},
                               {.input = "/system Rules\nA\n/tokens\n/save " + file +
                                         "\n/clear\n/system\nB\n/load " + file + "\nC\n/help\n/quit\nnever"});
  CHECK(run.status == 0);
  CHECK(run.out == "reply 1\nreply 2\nreply 3\n");
  CHECK(run.err.find("has 3 tokens, the context holds 2048") != std::string::npos);
  CHECK(run.err.find("7 read, 0 of them cached, 3 written") != std::string::npos);
  CHECK(run.err.find("No longer: Rules") != std::string::npos);
  CHECK(run.err.find("/retry") != std::string::npos);
  const auto chats = daemon.chats();
  REQUIRE(chats.size() == 3);
  CHECK(contents(chats[1]) == Texts{"user:B"});
  CHECK(contents(chats[2]) == Texts{"system:Rules", "user:A", "assistant:reply 1", "user:C"});
  struct stat about {};
  REQUIRE(::stat(file.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
}

TEST_CASE("chat in a pipe ends at what goes wrong, and says what") {
  Conversing daemon;
  const TemporaryDirectory folder;
  lockstep::tools::write_file(folder.path() / "bad",
                              R"({"messages":[{"role":"user","content":"x"}],"colour":1})");
  lockstep::tools::write_file(folder.path() / "worse", "{} {");
  const auto error = [&](const std::string& line) {
    const Run run = run_lockstep({"chat", "--socket", daemon.path()}, {.input = line + "\n"});
    CHECK(run.status != 0);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(error("busy") == "lockstep: the daemon is busy, try again later: too many\n");
  CHECK(error("/nothing x") == "lockstep: there is no /nothing: /help shows the commands\n");
  CHECK(error("/retry") == "lockstep: there is nothing to ask again\n");
  CHECK(error("/save") == "lockstep: name a file: /save FILE\n");
  const std::string folder_name = folder.path().string();
  CHECK(error("/load " + folder_name + "/bad") ==
        "lockstep: " + folder_name + "/bad is no conversation: 'colour' is not known here\n");
  CHECK(error("/load " + folder_name + "/worse").find("worse is not valid JSON") != std::string::npos);
  CHECK(error("/load /nonexistent").find("cannot be opened: No such file") != std::string::npos);
}

TEST_CASE("chat at a terminal: Ctrl-C drops the line or stops the reply, Ctrl-D ends; lines are remembered") {
  Conversing daemon;
  const TemporaryDirectory home;
  const std::vector<std::string> environment{"TERM=xterm", "LC_ALL=C", "HOME=" + home.path().string()};
  const std::vector<Setting::Keys> typed{{"> ", "never sent\x03"},
                                         {"> ", "wait\r"},
                                         {"reply 1", "\x03"},
                                         {"stopped", ""},
                                         {"> ", "gr\u00fcn\x1b[D\x7f\u00f6\r"},
                                         {"reply 2", ""},
                                         {"> ", "busy\r"},
                                         {"too many", ""},
                                         {"> ", "\x04"}};
  const Run run = run_lockstep({"chat", "--socket", daemon.path()},
                               {.environment = environment, .terminal = true, .typed = typed});
  INFO(run.out);
  CHECK(run.status == 0);
  CHECK(run.out.find("small on cpu, 2048 tokens of context.") != std::string::npos);
  const auto chats = daemon.chats();
  REQUIRE(chats.size() == 3);
  CHECK(contents(chats[0]) == Texts{"user:wait"});
  CHECK(contents(chats[1]) == Texts{"user:wait", "assistant:reply 1", "user:gr\u00f6n"});
  const auto history = home.path() / ".local/state/lockstep/history";
  CHECK(lockstep::tools::read_file(history) == "wait\ngr\u00f6n\nbusy\n");
  struct stat about {};
  REQUIRE(::stat(history.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  // The arrow brings back what another run remembered.
  const Run again = run_lockstep({"chat", "--socket", daemon.path()},
                                 {.environment = environment,
                                  .terminal = true,
                                  .typed = {{"> ", "\x1b[A\x1b[A\r"}, {"reply 4", ""}, {"> ", "\x04"}}});
  CHECK(contents(daemon.chats().back()) == Texts{"user:gr\u00f6n"});
}

TEST_CASE("chat at a terminal: what is pasted is one message, and comes back as one") {
  Conversing daemon;
  const TemporaryDirectory home;
  const std::vector<std::string> environment{"TERM=xterm", "LC_ALL=C.UTF-8", "HOME=" + home.path().string()};
  const std::vector<Setting::Keys> typed{
      {"> ", "a: \x1b[200~one\r\ttwo\n/three\\n\r\x1b[201~.\r"}, {"reply 1", ""}, {"> ", "\x04"}};
  const Run run = run_lockstep({"chat", "--socket", daemon.path()},
                               {.environment = environment, .terminal = true, .typed = typed});
  INFO(run.out);
  CHECK(run.out.find("\033[?2004h") < run.out.find("> "));
  CHECK(run.out.rfind("\033[?2004l") > run.out.rfind("\033[?2004h"));
  CHECK(contents(daemon.chats().back()) == Texts{"user:a: one\n\ttwo\n/three\\n."});
  const Run again = run_lockstep({"chat", "--socket", daemon.path()},
                                 {.environment = environment,
                                  .terminal = true,
                                  .typed = {{"> ", "\x1b[A!\r"}, {"reply 2", ""}, {"> ", "\x04"}}});
  CHECK(contents(daemon.chats().back()) == Texts{"user:a: one\n\ttwo\n/three\\n.!"});
}

TEST_CASE("chat at a terminal: a line is drawn anew from its prompt on when the width changes") {
  Conversing daemon;
  const std::string line(50, 'x');
  const Run run = run_lockstep(
      {"chat", "--socket", daemon.path()},
      {.environment = {"TERM=xterm", "LC_ALL=C"},
       .terminal = true,
       .typed = {{"> ", line}, {line, "", 40}, {"\033[1A\r\033[J", "\r"}, {"reply 1", ""}, {"> ", "\x04"}}});
  INFO(run.out);
  CHECK(contents(daemon.chats().back()) == Texts{"user:" + line});
}

TEST_CASE("chat: the files of /save and /load may be named from the home directory") {
  Conversing daemon;
  const TemporaryDirectory home;
  const Run run = run_lockstep({"chat", "--socket", daemon.path()},
                               {.input = "A\n/save ~/saved\n/clear\n/load ~/saved\nB\n",
                                .environment = {"HOME=" + home.path().string()}});
  CHECK(run.err == "2 messages saved\n2 messages loaded\n");
  CHECK(std::filesystem::exists(home.path() / "saved"));
  CHECK(contents(daemon.chats().back()) == Texts{"user:A", "assistant:reply 1", "user:B"});
}
