#include "tests/engine/support/snapshots.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace lockstep::test {

using namespace engine;

struct HandStore::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  int wakes = 0;
  std::vector<std::string> told;
};

namespace {

// Bytes that depend on every token.
HostBuffer contents(std::span<const int32_t> tokens, size_t bytes) {
  HostBuffer buffer(bytes);
  uint64_t state = 0x9e3779b97f4a7c15ULL;
  for (int32_t token : tokens) state = (state ^ static_cast<uint32_t>(token)) * 0x100000001b3ULL;
  for (size_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    buffer.data()[i] = static_cast<std::byte>(state >> 56);
  }
  return buffer;
}

bool equal(const HostBuffer& a, const HostBuffer& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Identity small_identity() { return {"a model", "a layout", 1, 700, 900}; }

std::vector<int32_t> numbered(int first, int count) {
  std::vector<int32_t> tokens(count);
  for (int i = 0; i < count; ++i) tokens[i] = first + i;
  return tokens;
}

HandStore::HandStore(const std::filesystem::path& directory, uint64_t budget, const Identity& identity)
    : shared_(std::make_shared<Shared>()), identity_(identity) {
  const auto shared = shared_;
  store_ = std::make_unique<SnapshotStore>(
      directory, budget, identity,
      [shared](const std::string& text) {
        const std::lock_guard lock(shared->mutex);
        shared->told.push_back(text);
      },
      [shared] {
        const std::lock_guard lock(shared->mutex);
        ++shared->wakes;
        shared->changed.notify_all();
      });
}

std::vector<std::string> HandStore::told() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->told;
}

bool HandStore::save(std::span<const int32_t> tokens, bool system) {
  const SnapshotStore::Counts before = store_->counts();
  const auto save = store_->save(tokens, system);
  if (!save) return false;
  std::unique_lock lock(shared_->mutex);
  const auto wait = [&](const auto& done) { shared_->changed.wait(lock, done); };
  while (save->next < static_cast<int>(save->pages.size())) {
    wait([&] { return store_->room(); });
    store_->send_page(save, contents(tokens.first((save->next + 1) * 64), identity_.page_bytes));
  }
  const int length = static_cast<int>(tokens.size());
  store_->send_entry(save, contents(tokens, store_->payload_bytes(length)));
  SnapshotStore::Counts after;
  wait([&] {
    after = store_->counts();
    return after.stored + after.skipped > before.stored + before.skipped;
  });
  return after.stored > before.stored;
}

int HandStore::load(std::span<const int32_t> tokens, int first_page) {
  const auto prefix = store_->find(tokens, 0);
  if (!prefix) return 0;
  const int length = prefix->entry.length, pages = static_cast<int>(prefix->pages.size());
  const auto load = store_->load(*prefix, first_page);
  std::vector<HostBuffer> came;
  std::unique_lock lock(shared_->mutex);
  bool failed = false;
  while (!failed && static_cast<int>(came.size()) <= pages - first_page) {
    const int wakes = shared_->wakes;
    failed = store_->failed(*load);
    if (auto buffer = store_->take(*load))
      came.push_back(std::move(*buffer));
    else if (!failed)
      shared_->changed.wait(lock, [&] { return shared_->wakes != wakes; });
  }
  for (size_t i = 0; i < came.size(); ++i) {
    const int page = first_page + static_cast<int>(i), end = page < pages ? (page + 1) * 64 : length;
    const size_t bytes = page < pages ? identity_.page_bytes : store_->payload_bytes(length);
    if (!equal(came[i], contents(tokens.first(end), bytes)))
      throw std::runtime_error("other bytes came back");
  }
  return failed ? 0 : length;
}

std::vector<std::string> snapshot_files(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(directory))
    if (file.path().filename() != "lock") names.push_back(file.path().filename());
  std::ranges::sort(names);
  return names;
}

uint64_t bytes_of_files(const std::filesystem::path& directory) {
  uint64_t bytes = 0;
  for (const std::string& name : snapshot_files(directory))
    bytes += std::filesystem::file_size(directory / name);
  return bytes;
}

std::filesystem::path quick_place() {
  const char* memory = "/dev/shm";
  return ::access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

void wait_for_saves(const Engine& engine, uint64_t entries) {
  for (;;) {
    const Status::Snapshots at = engine.status().snapshots;
    if (at.stored + at.skipped >= entries) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace lockstep::test
