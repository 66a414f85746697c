// The snapshot store: prefixes that outlive the process, in a directory of its own.
//
// Two threads of its own do all reading and writing; the engine's thread hands buffers over and never waits
// for a disk. What a directory holds is known from file names at open(); a file is read, and verified whole,
// when it is wanted. Whatever is wrong with it is a miss: it is told once and the file goes.
//
// Written for an entry: its pages that are not there yet (page_bytes + 416 bytes for 64 tokens) and itself
// (state_bytes, and one page where the prefix does not end with one). An entry of less than 16 tokens, or one
// that continues another by less than 16, or by less than its own size in MiB, is not written; the end of a
// system prompt always is. So what follows a conversation's first entries costs at most (page_bytes + 416) /
// 64
// + 1 MiB for each new token, and with small models state_bytes / 16 instead of the MiB.
//
// Threads: the engine's, except where said.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "engine/snapshots/shelf.h"

namespace lockstep::engine {

// An entry that begins a prompt.
struct SnapshotPrefix {
  RecordName entry;
  std::vector<Key> pages;  // its full ones
};

// A prefix on its way to the disk: its missing pages are sent in order, then the entry.
struct SnapshotSave {
  Record entry;
  std::vector<int32_t> tokens;
  std::vector<Key> pages;
  int next;             // index of the next page to send
  Key held;             // last of its pages that is on the shelf: stays until the save is over
  bool failed = false;  // of the writer
};

// A prefix on its way from the disk: pages in order, then the entry.
struct SnapshotLoad {
  SnapshotPrefix prefix;
  int first_page;
  std::deque<HostBuffer> ready;
  bool over = false, failed = false, cancelled = false;
};

class SnapshotStore {
 public:
  using Tell = std::function<void(const std::string&)>;  // any thread
  struct Counts {
    uint64_t hits = 0, reused_tokens = 0;  // entries loaded
    uint64_t stored = 0;                   // entries written
    uint64_t skipped = 0;                  // entries not written: queue or disk full, or beyond the budget
    uint64_t evicted = 0, corrupt = 0;     // entries thrown out; files that were not what they should be
    uint64_t written_bytes = 0, bytes = 0;
  };

  // Takes the directory, which is made if it is missing, for itself. Throws WriteFailure; EWOULDBLOCK:
  // another has it. `tell` gets warnings; `wake` is called when the engine's thread can go on with a save or
  // load.
  SnapshotStore(std::filesystem::path directory, uint64_t budget, const Identity& identity, Tell tell,
                std::function<void()> wake);
  // Finishes what has been sent, for at most ten seconds.
  ~SnapshotStore();

  // One line: how much is there.
  std::string summary() const;
  // Memory that buffers take at most.
  static uint64_t buffer_bytes(const Identity& identity);

  // The longest entry that is a prefix of `tokens`, leaves at least one of them and is longer than `known`.
  std::optional<SnapshotPrefix> find(std::span<const int32_t> tokens, int known);
  std::shared_ptr<SnapshotLoad> load(SnapshotPrefix prefix, int first_page);
  // The next buffer: page_bytes, or for the entry state_bytes and maybe page_bytes. None: not yet, or over.
  std::optional<HostBuffer> take(SnapshotLoad& load);
  bool failed(const SnapshotLoad& load) const;
  void cancel(SnapshotLoad& load);

  // Null when the entry is there, is not worth its bytes, or cannot be taken (counted as skipped).
  std::shared_ptr<SnapshotSave> save(std::span<const int32_t> tokens, bool system);
  bool room() const;  // for a page
  void send_page(const std::shared_ptr<SnapshotSave>& save, HostBuffer page);
  void send_entry(const std::shared_ptr<SnapshotSave>& save, HostBuffer state);
  void abandon(const std::shared_ptr<SnapshotSave>& save);

  uint64_t payload_bytes(int length) const;  // of an entry of so many tokens
  Counts counts() const;                     // any thread

 private:
  struct Job {
    enum class Kind { page, entry, abandon, remove } kind;
    std::shared_ptr<SnapshotSave> save;
    int page = 0;
    HostBuffer payload;
    std::vector<std::string> names;  // remove
  };

  void take_directory();
  void scan();
  void push(Job job);
  void write();
  void read();
  void run(Job& job);
  bool store_page(SnapshotSave& save, int page, const HostBuffer& payload);
  bool store_entry(SnapshotSave& save, const HostBuffer& payload);
  bool put(const Record& record, const HostBuffer& payload, uint64_t bytes);
  bool make_room(uint64_t bytes, uint64_t most);
  void end(SnapshotSave& save, bool stored);
  void fetch(SnapshotLoad& load);
  bool deliver(SnapshotLoad& load, const RecordName& name, uint64_t payload_bytes);
  void give_up(const RecordName& name, const BadRecord& bad);
  void remove(const std::vector<std::string>& names) const;
  void tell_once(int error, const std::string& text);

  const std::filesystem::path directory_;
  const uint64_t budget_;
  const Identity identity_;
  const Key root_;
  const Tell tell_;
  const std::function<void()> wake_;
  const int most_saves_;
  int lock_ = -1;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable written_, read_;
  Shelf shelf_;
  Counts counts_;
  std::deque<Job> jobs_;
  std::deque<std::shared_ptr<SnapshotLoad>> loads_;
  std::unordered_set<Key, KeyHash> saving_;
  int pages_sent_ = 0;  // that are not written yet
  std::unordered_set<int> told_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  bool stopping_ = false;
  std::thread writer_, reader_;
};

}  // namespace lockstep::engine
