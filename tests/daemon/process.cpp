#include "tests/daemon/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::filesystem::path new_file() {
  std::string name = (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) throw std::runtime_error("no temporary file");
  close(descriptor);
  return name;
}

[[noreturn]] void become_daemon(const Process::Setup& setup, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (int stream = 0; setup.no_streams && stream <= STDERR_FILENO; ++stream) close(stream);
  for (const auto& [name, value] : setup.environment) setenv(name.c_str(), value.c_str(), 1);
  struct stat about {};
  fstat(err, &about);
  const std::string stream = std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
  if (setup.journal) setenv("JOURNAL_STREAM", stream.c_str(), 1);
  if (!setup.sockets.empty()) {
    std::vector<int> high;
    std::string names;
    for (const auto& [name, descriptor] : setup.sockets) {
      high.push_back(fcntl(descriptor, F_DUPFD, 100));
      names += (names.empty() ? "" : ":") + name;
    }
    int next = 3;
    for (const int descriptor : high) dup2(descriptor, next++);
    setenv("LISTEN_FDS", std::to_string(high.size()).c_str(), 1);
    setenv("LISTEN_FDNAMES", names.c_str(), 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  }
  std::vector<std::string> words{LOCKSTEP_BINARY_DIR "/daemon/lockstepd"};
  words.insert(words.end(), setup.arguments.begin(), setup.arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  _exit(127);
}

}  // namespace

Process::Process(const Setup& setup) : out_(new_file()), err_(new_file()) {
  const int out = open(out_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const int err = open(err_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  pid_ = fork();
  if (pid_ == 0) become_daemon(setup, out, err);
  close(out);
  close(err);
}

Process::~Process() {
  if (!over_) {
    signal(SIGKILL);
    wait();
  }
  std::filesystem::remove(out_);
  std::filesystem::remove(err_);
}

void Process::signal(int number) const { kill(pid_, number); }

int Process::wait() {
  int status = 0;
  const bool ended = eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
  if (!ended) throw std::runtime_error("the daemon does not end; it said: " + errors());
  over_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool Process::wait_for_error(const std::string& text) {
  return eventually([&] { return errors().find(text) != std::string::npos; });
}

std::string Process::errors() const { return contents(err_); }
std::string Process::output() const { return contents(out_); }

}  // namespace lockstep::test
