#include "tests/daemon/process.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

const std::string model = LOCKSTEP_SOURCE_DIR "/tests/data/tiny-dense";
const std::string hello = R"({"max_tokens":3,"messages":[{"role":"user","content":"Hi"}]})";

// Arguments of a daemon that keeps to itself.
std::vector<std::string> serve(const TemporaryDirectory& directory, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{
      "--config",     (directory.path / "c.toml").string(), "--model", model, "--listen", "none",
      "--socket-dir", (directory.path / "run").string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void configure(const TemporaryDirectory& directory, const std::string& text = "") {
  std::ofstream(directory.path / "c.toml") << text;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int round_words = 100;
#else
constexpr int round_words = 1900;  // of a prompt whose one round takes tenths of a second
#endif

struct Failure {
  int status;
  std::string text;  // the last line of standard error, without the program's name
};

Failure failed(const std::vector<std::string>& arguments) {
  Process process({arguments, {}, {}, false});
  Failure failure{process.wait(), process.errors()};
  while (!failure.text.empty() && failure.text.back() == '\n') failure.text.pop_back();
  failure.text = failure.text.substr(failure.text.rfind('\n') + 1);
  const std::string name = "lockstepd: ";
  if (failure.text.starts_with(name)) failure.text = failure.text.substr(name.size());
  return failure;
}

TEST_CASE("lockstepd: help, version, usage") {
  Process help({{"--help"}, {}, {}, false});
  CHECK(help.wait() == 0);
  const std::string text = help.output();
  CHECK_THAT(text, Catch::Contains("--check-config"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() < 80);
  Process version({{"--version"}, {}, {}, false});
  CHECK(version.wait() == 0);
  CHECK(version.output() == LOCKSTEP_VERSION "\n");
  CHECK(failed({"--nonsense"}).status == 2);
  CHECK(failed({"--threads", "many"}).status == 2);
  TemporaryDirectory directory;
  configure(directory);
  const Failure threads = failed(serve(directory, {"--threads", "5000"}));
  CHECK(threads.status == 2);
  CHECK(threads.text == "the command line: 'threads' must be an integer from 0 to 1024, not 5000");
}

TEST_CASE("lockstepd bench measures the model") {
  CHECK(failed({"bench"}).status == 2);
  TemporaryDirectory directory;
  configure(directory);
  CHECK(failed(serve(directory, {"--model", "/nowhere", "bench", "model"})).status == 4);
  CHECK(failed(serve(directory, {"--device", "abacus", "bench", "kernels"})).status == 5);
}

TEST_CASE("lockstepd inspect prints what a checkpoint needs, and fails for what cannot be served") {
  Process good({{"inspect", LOCKSTEP_SOURCE_DIR "/packaging/starter"}, {}, {}, false});
  CHECK(good.wait() == 0);
  CHECK_THAT(good.output(), Catch::Contains("KV of a token"));
  Process json({{"inspect", LOCKSTEP_SOURCE_DIR "/packaging/starter", "--json"}, {}, {}, false});
  CHECK(json.wait() == 0);
  CHECK_THAT(json.output(), Catch::Contains("\"problems\":[]"));
  Process bad({{"inspect", "/nonexistent"}, {}, {}, false});
  CHECK(bad.wait() == 4);
  CHECK_THAT(bad.output(), Catch::Contains("cannot be served"));
}

TEST_CASE("lockstepd: a mistake in the configuration is status 3 with file and line") {
  TemporaryDirectory directory;
  const std::string file = (directory.path / "c.toml").string();
  const Failure missing = failed({"--config", file});
  CHECK(missing.status == 3);
  CHECK(missing.text == file + ": cannot be read (No such file or directory)");
  configure(directory, "threads = 2\nthread = 2\n");
  const Failure unknown = failed({"--config", file, "--check-config"});
  CHECK(unknown.status == 3);
  CHECK(unknown.text == file + ":2: unknown key 'thread'; did you mean 'threads'?");
  configure(directory, "threads = 2\n");
  Process good({{"--config", file, "--check-config"}, {}, {}, false});
  CHECK(good.wait() == 0);
  CHECK_THAT(good.output(), Catch::Contains("threads = 2\n"));
  const Failure address = failed({"--config", file, "--listen", "nonsense", "--check-config"});
  CHECK(address.status == 7);
  CHECK_THAT(address.text, Catch::StartsWith("listen = \"nonsense\" is not ADDRESS:PORT"));
}

TEST_CASE("lockstepd: what inherits JOURNAL_STREAM, but not the journal's stream, says why it ends") {
  TemporaryDirectory directory;
  const std::string file = (directory.path / "c.toml").string();
  Process process({{"--config", file}, {{"JOURNAL_STREAM", "1:2"}}, {}, false});
  CHECK(process.wait() == 3);
  CHECK_THAT(process.errors(), Catch::Contains(file + ": cannot be read"));
}

TEST_CASE("lockstepd: a start that fails is one sentence, its own status, and nothing left behind") {
  TemporaryDirectory directory;
  configure(directory);
  SECTION("no model: 4") {
    const Failure failure = failed(serve(directory, {"--model", "/nowhere/at/all"}));
    CHECK(failure.status == 4);
    CHECK_THAT(failure.text, Catch::Contains("/nowhere/at/all"));
  }
  SECTION("a damaged model: 4") {
    std::filesystem::copy(model, directory.path / "copy");
    std::filesystem::resize_file(directory.path / "copy/model.safetensors", 1000);
    const Failure failure = failed(serve(directory, {"--model", (directory.path / "copy").string()}));
    CHECK(failure.status == 4);
    CHECK_THAT(failure.text, Catch::Contains("model.safetensors"));
    std::filesystem::remove_all(directory.path / "copy");
  }
  SECTION("an unknown device: 5") {
    const Failure failure = failed(serve(directory, {"--device", "abacus"}));
    CHECK(failure.status == 5);
    CHECK_THAT(failure.text, Catch::Contains("abacus"));
  }
  SECTION("too little memory: 6") {
    configure(directory, "memory = \"64 KiB\"\n");
    const Failure failure = failed(serve(directory));
    CHECK(failure.status == 6);
    CHECK_THAT(failure.text, Catch::Contains("memory"));
  }
  SECTION("the port is in use: 7") {
    RunningApp other;
    const std::string listen = "127.0.0.1:" + std::to_string(other.port());
    const Failure failure = failed(serve(directory, {"--listen", listen}));
    CHECK(failure.status == 7);
    CHECK(failure.text ==
          listen +
              " cannot be listened on (Address already in use); stop what uses it, or set another "
              "listen address");
  }
  std::filesystem::remove(directory.path / "c.toml");
  CHECK(std::filesystem::is_empty(directory.path));
}

// A service manager's end of sd_notify(3).
class Manager {
 public:
  explicit Manager(const std::filesystem::path& path)
      : path_(path), descriptor_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const timeval patience{5, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Manager() { close(descriptor_); }
  // Everything up to the message; empty if it does not come.
  std::vector<std::string> until(const std::string& message) {
    std::vector<std::string> all;
    char buffer[4096];
    for (ssize_t size; (size = recv(descriptor_, buffer, sizeof buffer, 0)) > 0;) {
      all.emplace_back(buffer, static_cast<std::size_t>(size));
      if (all.back() == message) return all;
    }
    return {};
  }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

TEST_CASE("lockstepd under a service manager: READY once it answers, WATCHDOG, STOPPING, journal lines") {
  TemporaryDirectory directory;
  configure(directory);
  Manager manager(directory.path / "notify");
  Process process({serve(directory), {{"NOTIFY_SOCKET", (directory.path / "notify").string()}}, {}, true});
  const std::vector<std::string> start = manager.until("READY=1");
  REQUIRE(!start.empty());
  CHECK(start.front().starts_with("STATUS=Loading "));
  HttpClient client = HttpClient::unix_socket((directory.path / "run/http.sock").string());
  const HttpAnswer answer = client.post(hello);
  INFO(answer.body);
  CHECK(answer.status == 200);
  CHECK(text_at(answer.json(), "usage.completion_tokens") == "3");
  CHECK(!manager.until("WATCHDOG=1").empty());
  process.signal(SIGTERM);
  CHECK(!manager.until("STOPPING=1").empty());
  CHECK(process.wait() == 0);
  CHECK(!std::filesystem::exists(directory.path / "run"));
  std::string line;
  std::ifstream none;
  for (std::istringstream lines(process.errors()); std::getline(lines, line);) {
    INFO(line);
    CHECK(line.starts_with("<6>"));
  }
}

TEST_CASE("lockstepd takes the sockets that systemd passes, and leaves their files alone") {
  TemporaryDirectory directory;
  configure(directory);
  const auto path = directory.path / "passed.sock";
  const int passed = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(bind(passed, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(passed, 16) == 0);
  {
    HttpClient early = HttpClient::unix_socket(path.string());
    early.send(chat_request(hello));
    Process process({serve(directory), {}, {{"http", passed}}, false});
    CHECK(early.receive().status == 200);  // waited for the model instead of being refused
    early.close();
    CHECK(HttpClient::unix_socket(path.string()).get("/health").status == 200);
    CHECK(!std::filesystem::exists(directory.path / "run"));
    process.signal(SIGINT);
    CHECK(process.wait() == 0);
  }
  CHECK(std::filesystem::exists(path));
  Process process({serve(directory), {}, {{"web", passed}}, false});
  CHECK(process.wait() == 7);
  CHECK_THAT(process.errors(), Catch::Contains("'web'"));
  close(passed);
}

TEST_CASE("lockstepd goes on when the reader of its log has gone") {
  TemporaryDirectory directory;
  configure(directory);
  Process process({serve(directory), {}, {}, false});
  REQUIRE(process.wait_for_error("ready"));
  process.signal(SIGPIPE);
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
}

TEST_CASE("lockstepd started without standard streams logs to nobody, not into its own files") {
  TemporaryDirectory directory;
  configure(directory);
  Process process({serve(directory), {}, {}, false, true});
  const std::filesystem::path socket = directory.path / "run/http.sock";
  REQUIRE(eventually([&] { return std::filesystem::exists(socket); }));
  const std::filesystem::path streams = "/proc/" + std::to_string(process.id()) + "/fd";
  for (const char* stream : {"0", "1", "2"})
    CHECK(std::filesystem::read_symlink(streams / stream) == "/dev/null");
}

TEST_CASE(
    "F81 after the machine has slept, or the process has stood still, replies go on to the same tokens") {
  TemporaryDirectory directory;
  configure(directory, "chunk = 2048\nthreads = 1\n");
  Process process({serve(directory),
                   {{"LD_PRELOAD", LOCKSTEP_BINARY_DIR "/tests/libclocks.so"},
                    {"ASAN_OPTIONS", "verify_asan_link_order=0"},
                    {"WATCHDOG_USEC", "4000000"}},
                   {},
                   false});
  REQUIRE(process.wait_for_error("ready"));
  const std::string socket = (directory.path / "run/http.sock").string();
  HttpClient client = HttpClient::unix_socket(socket);
  std::string words;
  for (int i = 0; i < round_words; ++i) words += "word ";
  const std::string request =
      R"({"max_tokens":20,"ignore_eos":true,"temperature":0,"messages":[{"role":"user","content":")" + words +
      R"("}]})";
  client.send(chat_request(request));
  // In the round that reads the prompt, so that the engine cannot beat at once when it goes on.
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  process.signal(SIGSTOP);
  // Longer than what makes an engine count as stuck, 3 seconds here.
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  process.signal(SIGUSR2);
  process.signal(SIGCONT);
  const HttpAnswer disturbed = client.receive();
  REQUIRE(disturbed.status == 200);
  CHECK(text_at(client.post(request).json(), "lockstep.token_sha256") ==
        text_at(disturbed.json(), "lockstep.token_sha256"));
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK_THAT(process.errors(), !Catch::Contains("stuck"));
}

TEST_CASE("F84 a second signal ends lockstepd at once, with status 0 and nothing left behind") {
  TemporaryDirectory directory;
  configure(directory, "drain_seconds = 3600\n");
  Process process({serve(directory), {}, {}, false});
  REQUIRE(process.wait_for_error("ready"));
  HttpClient client = HttpClient::unix_socket((directory.path / "run/http.sock").string());
  client.send("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  process.signal(SIGTERM);
  REQUIRE(process.wait_for_error("stopping"));
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(!std::filesystem::exists(directory.path / "run"));
}

TEST_CASE("F84 a socket left by a killed lockstepd is replaced at the next start") {
  TemporaryDirectory directory;
  configure(directory);
  {
    Process process({serve(directory), {}, {}, false});
    REQUIRE(process.wait_for_error("ready"));
    process.signal(SIGKILL);
    CHECK(process.wait() == 1000 + SIGKILL);
  }
  CHECK(std::filesystem::exists(directory.path / "run/http.sock"));
  Process process({serve(directory), {}, {}, false});
  REQUIRE(process.wait_for_error("ready"));
  CHECK(HttpClient::unix_socket((directory.path / "run/http.sock").string()).get("/health").status == 200);
}

}  // namespace
}  // namespace lockstep::test
