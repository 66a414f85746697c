#include "daemon/sandbox/sandbox.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/catch.h"
#include "tests/daemon/json_path.h"
#include "tests/daemon/process.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

const std::string model = LOCKSTEP_SOURCE_DIR "/tests/data/tiny-dense";
const std::string hello = R"({"max_tokens":3,"messages":[{"role":"user","content":"Hi"}]})";

#if defined(__SANITIZE_ADDRESS__)
constexpr bool traces = true;  // LeakSanitizer forks and traces
#else
constexpr bool traces = false;
#endif

std::vector<std::string> serve(const TemporaryDirectory& directory, const std::string& configuration) {
  std::ofstream(directory.path / "c.toml") << configuration;
  return {"--config",     (directory.path / "c.toml").string(), "--model", model, "--listen", "none",
          "--socket-dir", (directory.path / "run").string()};
}

std::string key_line(const std::string& label) {
  return label + " 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\n";  // of "foo"
}

// The attempts of escape.cpp and the errno each ended with.
std::map<std::string, int> attempts(const std::string& configuration, bool* answers) {
  TemporaryDirectory directory, outside;
  std::ofstream(outside.path / "victim") << "x";
  RunningApp neighbour;
  const std::string sanitizer = "verify_asan_link_order=0:detect_leaks=0";
  Process process({serve(directory, configuration),
                   {{"LD_PRELOAD", LOCKSTEP_BINARY_DIR "/tests/libescape.so"},
                    {"ASAN_OPTIONS", sanitizer},
                    {"ESCAPE_FOLDER", outside.path.string()},
                    {"ESCAPE_MODEL", model},
                    {"ESCAPE_PORT", std::to_string(neighbour.port())},
                    {"ESCAPE_SOCKET", neighbour.http_socket().string()}},
                   {},
                   false});
  REQUIRE(process.wait_for_error("escape user="));
  HttpClient client = HttpClient::unix_socket((directory.path / "run/http.sock").string());
  *answers = text_at(client.post(hello).json(), "usage.completion_tokens") == "3";
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(!std::filesystem::exists(directory.path / "run"));
  std::map<std::string, int> ends;
  std::istringstream lines(process.errors());
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t equal = line.find('='); line.starts_with("escape ") && equal != std::string::npos)
      ends[line.substr(7, equal - 7)] = std::stoi(line.substr(equal + 1));
  return ends;
}

TEST_CASE("nothing that runs inside lockstepd gets out of it") {
  bool answers = false;
  std::map<std::string, int> ends = attempts("", &answers);
  CHECK(answers);
  CHECK(ends.at("model") == 0);
  ends.erase("model");
  if (daemon::sandbox::landlock_version() == 0) {
    WARN("this kernel has no Landlock: files are not tried");
    for (const char* file :
         {"users", "users while loading", "list", "environment", "write", "change", "remove", "passwords"})
      ends.erase(file);
  }
  if (traces)
    for (const char* of_leaks : {"trace", "run", "exec", "memory"}) ends.erase(of_leaks);
  CHECK(ends.size() >= (traces ? 16u : 20u));
  for (const auto& [attempt, error] : ends) {
    INFO(attempt << " ended with " << error);
    CHECK((error == EPERM || error == EACCES));
  }
}

TEST_CASE("the attempts to get out would succeed without the sandbox") {
  bool answers = false;
  const std::map<std::string, int> ends = attempts("sandbox = \"off\"\n", &answers);
  CHECK(answers);
  for (const char* attempt : {"users", "users while loading", "list", "write", "link", "folder", "remove",
                              "mode", "run", "tcp", "unix", "raw", "signal", "code", "turned", "user"}) {
    INFO(attempt);
    CHECK(ends.at(attempt) == 0);
  }
  // These have no target, so that they do no harm: the kernel says so, and not that they are forbidden.
  CHECK(ends.at("mount") == ENOENT);
  CHECK(ends.at("trace") == ESRCH);
  CHECK(ends.at("terminal") == ENOTTY);
}

TEST_CASE("a confined lockstepd reads keys again, writes snapshots, and loads a model of links") {
  TemporaryDirectory directory, linked;
  for (const auto& file : std::filesystem::directory_iterator(model))
    std::filesystem::create_symlink(file.path(), linked.path / file.path().filename());
  const std::filesystem::path keys = directory.path / "keys", store = directory.path / "new/store";
  std::ofstream(keys) << key_line("one");
  std::vector<std::string> arguments =
      serve(directory, "api_keys = \"" + keys.string() + "\"\nsnapshots = \"" + store.string() + "\"\n");
  arguments[3] = linked.path.string();
  const int inherited = open("/dev/null", O_RDONLY);
  REQUIRE(dup2(inherited, 77) == 77);  // which a program that is started keeps
  Process process({arguments, {}, {}, false});
  close(77);
  close(inherited);
  REQUIRE(process.wait_for_error("ready"));
  CHECK_THAT(process.errors(), Catch::Contains("system calls"));
  const std::string self = "/proc/" + std::to_string(process.id());
  CHECK(!std::filesystem::exists(std::filesystem::symlink_status(self + "/fd/77")));
  for (const auto& thread : std::filesystem::directory_iterator(self + "/task")) {
    std::ifstream status(thread.path() / "status");
    const std::string text{std::istreambuf_iterator<char>(status), {}};
    CHECK_THAT(text, Catch::Contains("NoNewPrivs:\t1") && Catch::Contains("Seccomp:\t2"));
  }
  std::ofstream(directory.path / "keys.new") << key_line("one") << key_line("two");
  std::filesystem::rename(directory.path / "keys.new", keys);
  process.signal(SIGHUP);
  CHECK(process.wait_for_error("API keys: 2 from"));
  HttpClient client = HttpClient::unix_socket((directory.path / "run/http.sock").string());
  const std::string question(400, 'x');
  CHECK(
      client.post(R"({"max_tokens":30,"messages":[{"role":"user","content":")" + question + "\"}]}").status ==
      200);
  client.close();
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  int kept = 0;
  for (const auto& file : std::filesystem::directory_iterator(store))
    kept += file.path().extension() == ".entry";
  CHECK(kept > 0);
}

TEST_CASE("lockstepd --print-sandbox says what is in force, and off when it is off") {
  TemporaryDirectory directory;
  std::vector<std::string> arguments = serve(directory, "");
  arguments.emplace_back("--print-sandbox");
  Process on({arguments, {{"ASAN_OPTIONS", "detect_leaks=0"}}, {}, false});
  CHECK(on.wait() == 0);
  CHECK_THAT(on.output(), Catch::Contains("privileges: none can be gained") && Catch::Contains("seccomp"));
  if (daemon::sandbox::landlock_version() > 0)
    CHECK_THAT(on.output(), Catch::Contains("  " + model + ": read\n"));
  serve(directory, "sandbox = \"off\"\n");
  Process off({arguments, {}, {}, false});
  CHECK(off.wait() == 0);
  CHECK(off.output() == "sandbox = \"off\": nothing is confined\n");
}

}  // namespace
}  // namespace lockstep::test
