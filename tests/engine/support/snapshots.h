// A snapshot store used by hand, without a model: contents are made from the tokens, so that whatever comes
// back can be told to be right.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/snapshots/store.h"

namespace lockstep::test {

engine::Identity small_identity();  // pages of 700 bytes, states of 900
std::vector<int32_t> numbered(int first, int count);

class HandStore {
 public:
  // Throws engine::WriteFailure.
  explicit HandStore(const std::filesystem::path& directory, uint64_t budget = 1 << 20,
                     const engine::Identity& identity = small_identity());

  // Saves and waits until it is written. False: it was not wanted, or could not be written.
  bool save(std::span<const int32_t> tokens, bool system = false);
  // What the store knows of `tokens`, loaded and compared: its length, 0 for nothing. Throws
  // std::runtime_error when something else came back than what was saved.
  int load(std::span<const int32_t> tokens, int first_page = 0);

  engine::SnapshotStore& store() { return *store_; }
  std::vector<std::string> told() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  const engine::Identity identity_;
  std::unique_ptr<engine::SnapshotStore> store_;
};

// Names of the store's files in a directory, without the lock.
std::vector<std::string> snapshot_files(const std::filesystem::path& directory);
uint64_t bytes_of_files(const std::filesystem::path& directory);
// Where flushing costs nothing, if there is such a place.
std::filesystem::path quick_place();
// Until the engine has written or skipped what it is saving.
void wait_for_saves(const engine::Engine& engine, uint64_t entries);

}  // namespace lockstep::test
