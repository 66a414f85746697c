// What lockstepd gives up by itself once it has what it needs, so that it is confined also where no unit does
// it. lockstepd(8), "Sandbox", says what is left.
#pragma once

#include <string>
#include <vector>

#include "daemon/configuration.h"
#include "daemon/sandbox/landlock.h"

namespace lockstep::daemon::sandbox {

// Closes what the daemon was not meant to inherit: all but the standard streams and systemd's sockets.
void close_inherited();

class Sandbox {
 public:
  // Without the key `sandbox` nothing is given up.
  explicit Sandbox(const Configuration& configuration) : configuration_(configuration) {}

  // Once the listeners are open, before other threads are started: privileges, files, TCP, signals, code that
  // is written and then executed. `owns_sockets`, `owns_directory`: they are removed at the end. What this
  // kernel cannot do is logged and left.
  void confine(bool owns_sockets, bool owns_directory);
  // Once the engine is open, for all threads: system calls.
  void confine_calls();

  std::string summary() const;  // in a line
  std::string text() const;     // in full; for --print-sandbox

 private:
  std::vector<PathRule> rules(bool owns_sockets, bool owns_directory) const;
  bool may_use_gpu() const;

  const Configuration& configuration_;
  std::vector<PathRule> rules_;
  int landlock_ = 0;  // the version in force
  int calls_ = 0;     // allowed; 0: all
  bool no_privileges_ = false, no_new_code_ = false;
};

}  // namespace lockstep::daemon::sandbox
