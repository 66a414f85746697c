// How lockstepd ends, for scripts and service managers (lockstepd(8) documents them).
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep::daemon {

enum class ExitStatus {
  success = 0,
  failure = 1,        // the engine failed while serving
  usage = 2,          // the command line
  configuration = 3,  // a configuration file
  model = 4,          // the checkpoint is missing, damaged or of an unknown kind
  device = 5,         // the device is missing or not usable
  memory = 6,         // not enough of it
  address = 7,        // a TCP port or Unix socket cannot be had
};

// Why the daemon cannot start: what() is one sentence that names the thing and the remedy.
struct StartFailure : std::runtime_error {
  ExitStatus status;
  StartFailure(ExitStatus s, const std::string& text) : std::runtime_error(text), status(s) {}
};

}  // namespace lockstep::daemon
