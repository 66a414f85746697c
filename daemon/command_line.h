// The command line of lockstepd(8).
#pragma once

#include <vector>

#include "daemon/configuration.h"
#include "daemon/exit_status.h"

namespace lockstep::daemon {

struct CommandLine {
  // none: all is said already (--help, --version, a mistake), `status` tells which.
  enum class Action {
    none,
    serve,
    check_config,
    print_sandbox,
    inspect,
    self_test,
    bench_kernels,
    bench_model,
    bench_concurrent,
    bench_cache,
    bench_chat,
    bench_gap,
    check,
    list_snapshots,
    verify_snapshots,
    remove_snapshots
  } action = Action::none;
  ExitStatus status = ExitStatus::success;
  bool json = false;  // of inspect
  engine::ConcurrentBench concurrent;
  int trials = 200;             // of check: of each law
  unsigned seed = 1;            // of check
  Configuration configuration;  // of the files, with what the command line sets
};

// Prints help and mistakes itself. Throws StartFailure (usage, configuration).
CommandLine read_command_line(int argc, const char* const* argv);

}  // namespace lockstep::daemon
