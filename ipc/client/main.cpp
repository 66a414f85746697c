// lockstep: the command-line client. man/lockstep.1 is its reference.
#include <csignal>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/terminal.h"
#include "ipc/ipc.h"

namespace {

using namespace lockstep::ipc::client;

int run_command(const Command& command, std::span<const char* const> words) {
  try {
    const Arguments arguments(command, words);
    if (arguments.given("--help")) {
      write_answer(help(command));
      return exit_ok;
    }
    return command.run(arguments);
  } catch (const UsageError& error) {
    complain(std::string(error.what()) + " (see lockstep " + command.name + " --help)", command.name);
    return exit_usage;
  } catch (const Failure& failure) {
    complain(failure.what());
    return failure.status;
  } catch (const std::exception& error) {
    complain(error.what());
    return exit_failed;
  }
}

int run(std::span<const char* const> words) {
  if (words.empty()) {
    tell(help(commands()));
    return exit_usage;
  }
  const std::string first = words[0];
  if (first == "--help") {
    write_answer(help(commands()));
    return exit_ok;
  }
  if (first == "--version") {
    write_answer("lockstep " LOCKSTEP_VERSION "\n");
    return exit_ok;
  }
  for (const Command& command : commands())
    if (first == command.name) return run_command(command, words.subspan(1));
  complain("unknown command " + first + " (see lockstep --help)");
  return exit_usage;
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::ipc::hold_standard_streams();
  // A parent may have had it ignored; a closed pipe must end this program quietly.
  ::signal(SIGPIPE, SIG_DFL);
  const std::span<const char* const> words(argv, static_cast<size_t>(argc));
  return run(words.empty() ? words : words.subspan(1));
}
