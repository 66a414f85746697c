// A filter of system calls (seccomp(2)) for every thread of the process. Cannot be taken back.
#pragma once

#include <linux/filter.h>
#include <vector>

namespace lockstep::daemon::sandbox {

struct CallFilter {
  std::vector<sock_filter> code;
  int calls = 0;  // that it lets through, some of them with harmless arguments only
};

// What a daemon needs that has its files, listeners and engine: memory, files, streams, waiting, threads and
// time. No program can be started, no process forked, traced or signalled, no socket made but Unix ones, none
// connected or bound, no namespace, mount, key, module or io_uring used. With `gpu` also what the drivers'
// runtimes call, and memory may be written and executed; without it never both, nor one after the other.
CallFilter call_filter(bool gpu);

// What is not allowed fails with EPERM; calls newer than the list with ENOSYS, so that libraries fall back.
// Needs no_new_privs. Throws std::system_error.
void confine_system_calls(const CallFilter& filter);

}  // namespace lockstep::daemon::sandbox
