// A snapshot directory seen from outside: for `lockstepd snapshots`.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::engine {

// The directory cannot be had; what() says why.
struct SnapshotError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct SnapshotEntry {
  std::string root;  // of its name: model, canon and layout
  int tokens;
  uint64_t bytes;
  time_t used;
  bool system;
};
struct SnapshotFiles {
  std::vector<SnapshotEntry> entries;  // the last used first
  uint64_t pages = 0, bytes = 0;
};
// Also while a daemon uses them. Throws SnapshotError.
SnapshotFiles snapshots_in(const std::filesystem::path& directory);

// Print tables and counts for people. Throw SnapshotError.
void list_snapshots(std::ostream& out, const std::filesystem::path& directory);
// Reads every file; false when one is not what it should be.
bool verify_snapshots(std::ostream& out, const std::filesystem::path& directory);
void remove_snapshots(std::ostream& out, const std::filesystem::path& directory);  // all; no daemon may run

}  // namespace lockstep::engine
