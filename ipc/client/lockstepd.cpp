// Commands that are lockstepd's business: it is asked, as a program of its own.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"

namespace lockstep::ipc::client {

namespace {

int run_lockstepd(std::vector<std::string> words, const std::string& what_for) {
  words.insert(words.begin(), "lockstepd");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, "lockstepd", nullptr, nullptr, pointers.data(), ::environ);
  if (failed == ENOENT)
    throw Failure(exit_failed, "lockstepd, which " + what_for + ", is not in $PATH: install lockstepd");
  if (failed != 0)
    throw Failure(exit_failed, std::string("lockstepd cannot be run: ") + std::strerror(failed));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) {  // Ctrl-C, or a reader that has gone
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? exit_ok : exit_failed;
}

// Which is no option, whatever its name.
std::string folder(const std::string& name) { return name.starts_with("/") ? name : "./" + name; }

// Those of lockstepd's options that the command has.
std::vector<std::string> with_options(const Arguments& arguments) {
  std::vector<std::string> words;
  for (const char* option : {"--device", "--model"}) {
    if (const auto value = arguments.value(option)) words.insert(words.end(), {option, *value});
  }
  return words;
}

}  // namespace

int inspect(const Arguments& arguments) {
  if (arguments.operands().size() != 1) throw UsageError("the checkpoint's directory is needed");
  std::vector<std::string> words = {"inspect", folder(arguments.operands()[0])};
  if (arguments.given("--json")) words.push_back("--json");
  return run_lockstepd(words, "reads checkpoints");
}

int self_test(const Arguments& arguments) {
  if (!arguments.operands().empty()) throw UsageError("selftest takes no operands");
  std::vector<std::string> words = with_options(arguments);
  words.push_back("selftest");
  return run_lockstepd(words, "has the kernels");
}

int bench(const Arguments& arguments) {
  if (arguments.operands().size() != 1)
    throw UsageError("what to measure is needed: kernels, model, concurrent, cache, chat or gap");
  std::vector<std::string> words = with_options(arguments);
  words.insert(words.end(), {"bench", arguments.operands()[0]});
  return run_lockstepd(words, "measures");
}

int files_of_snapshots(const Arguments& arguments) {
  std::vector<std::string> words = {"snapshots", arguments.operands()[0]};
  if (arguments.operands().size() == 2) words.push_back(folder(arguments.operands()[1]));
  return run_lockstepd(words, "looks into directories of snapshots");
}

}  // namespace lockstep::ipc::client
