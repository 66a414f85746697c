// A snapshot directory seen from outside: for `lockstepd snapshots`.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <stdexcept>

namespace lockstep::engine {

// The directory cannot be had; what() says why.
struct SnapshotError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Print tables and counts for people. Throw SnapshotError.
void list_snapshots(std::ostream& out, const std::filesystem::path& directory);
// Reads every file; false when one is not what it should be.
bool verify_snapshots(std::ostream& out, const std::filesystem::path& directory);
void remove_snapshots(std::ostream& out, const std::filesystem::path& directory);  // all; no daemon may run

}  // namespace lockstep::engine
