// Landlock (linux/landlock.h, landlock(7)): what the calling thread, and the threads it starts from then on,
// can still do with files, TCP, and processes that are not its own. Needs no privilege; cannot be taken back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lockstep::daemon::sandbox {

// What may be done with a path and all that is below it.
enum class Access {
  read,            // files and directories
  device,          // read, write, ioctl
  store,           // read, write, make and remove files
  remove_files,    // only that
  remove_folders,  // empty ones only
};

struct PathRule {
  std::filesystem::path path;
  Access access;
};

// The kernel's version of the interface; 0: it has none, or it is turned off.
int landlock_version();

// Confines the calling thread to `rules`; paths that are not there are left out. Nothing can be executed.
// From version 4 on no TCP connection or listener can be made, from 6 on no other process signalled, and no
// abstract socket of another one reached unless `abstract_sockets`. Throws std::system_error; nothing has
// changed then.
void confine_with_landlock(int version, const std::vector<PathRule>& rules, bool abstract_sockets);

}  // namespace lockstep::daemon::sandbox
