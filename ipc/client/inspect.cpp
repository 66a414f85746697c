// lockstep inspect: checkpoints are lockstepd's business, so it is asked, as a program of its own.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"

namespace lockstep::ipc::client {

int inspect(const Arguments& arguments) {
  if (arguments.operands().size() != 1) throw UsageError("the checkpoint's directory is needed");
  std::string program = "lockstepd", command = "inspect", json = "--json", folder = arguments.operands()[0];
  if (!folder.starts_with("/")) folder = "./" + folder;  // which is no option, whatever its name
  char* words[] = {program.data(), command.data(), folder.data(),
                   arguments.given("--json") ? json.data() : nullptr, nullptr};
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, program.c_str(), nullptr, nullptr, words, ::environ);
  if (failed == ENOENT)
    throw Failure(exit_failed, "lockstepd, which reads checkpoints, is not in $PATH: install lockstepd");
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

}  // namespace lockstep::ipc::client
