// What the snapshot store's two threads do.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>

#include "engine/snapshots/store.h"
#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

constexpr int page_tokens = kernels::page_positions;
constexpr size_t most_ready = 4;  // buffers of a load that the engine has not taken

bool full(int error) { return error == ENOSPC || error == EDQUOT; }

}  // namespace

void SnapshotStore::write() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      written_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty() || std::chrono::steady_clock::now() > deadline_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    run(job);
    wake_();
  }
}

void SnapshotStore::run(Job& job) {
  switch (job.kind) {
    case Job::Kind::page:
      if (!job.save->failed && !store_page(*job.save, job.page, job.payload)) job.save->failed = true;
      {
        const std::lock_guard lock(mutex_);
        --pages_sent_;
      }
      break;
    case Job::Kind::entry: end(*job.save, !job.save->failed && store_entry(*job.save, job.payload)); break;
    case Job::Kind::abandon: end(*job.save, false); break;
    case Job::Kind::remove: remove(job.names); break;
  }
}

bool SnapshotStore::store_page(SnapshotSave& save, int page, const HostBuffer& payload) {
  const std::span<const int32_t> all(save.tokens);
  const auto tokens = all.subspan(size_t(page) * page_tokens, page_tokens);
  const Record record{Record::Kind::page,
                      root_,
                      save.pages[page],
                      page ? save.pages[page - 1] : root_,
                      (page + 1) * page_tokens,
                      false,
                      {tokens.begin(), tokens.end()}};
  const uint64_t bytes = record_bytes(page_tokens, payload.size());
  bool there;
  {
    const std::lock_guard lock(mutex_);
    there = shelf_.has_page(record.key);  // another conversation brought it meanwhile
  }
  if (!there && !put(record, payload, bytes)) return false;
  std::vector<std::string> gone;
  {
    const std::lock_guard lock(mutex_);
    if (!there) shelf_.add_page(record.key, record.before, bytes);
    shelf_.hold(record.key);
    shelf_.let_go(save.held, gone);
    save.held = record.key;
  }
  remove(gone);
  return true;
}

bool SnapshotStore::store_entry(SnapshotSave& save, const HostBuffer& payload) {
  {
    const std::lock_guard lock(mutex_);
    if (!shelf_.complete(root_, save.entry.before)) return false;
  }
  const uint64_t bytes = record_bytes(save.entry.tokens.size(), payload.size());
  if (!put(save.entry, payload, bytes)) return false;
  try {
    sync_directory(directory_);
  } catch (const WriteFailure&) {
    // Names may be lost with the machine's power, and are missed then.
  }
  const auto used = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  shelf_.add_entry({name_of(save.entry), bytes, used});
  return true;
}

// Writes a file, making room for it before, and once more when the disk is full.
bool SnapshotStore::put(const Record& record, const HostBuffer& payload, uint64_t bytes) {
  if (!make_room(bytes, budget_)) return false;
  for (bool again = false;; again = true) {
    try {
      write_record(directory_, record, payload);
      const std::lock_guard lock(mutex_);
      counts_.written_bytes += bytes;
      return true;
    } catch (const WriteFailure& failure) {
      uint64_t now;
      {
        const std::lock_guard lock(mutex_);
        now = shelf_.bytes();
      }
      if (!again && full(failure.error) && make_room(bytes, now)) continue;
      tell_once(failure.error,
                "snapshots: " + directory_.string() + " cannot be written (" +
                    std::generic_category().message(failure.error) +
                    "); conversations are served, but not kept for a restart" +
                    (full(failure.error) ? "; free space there or lower snapshot_budget" : ""));
      return false;
    }
  }
}

// Throws out entries until `bytes` more come to at most `most`. False when there is nothing left to throw
// out.
bool SnapshotStore::make_room(uint64_t bytes, uint64_t most) {
  std::vector<std::string> gone;
  bool fits = true;
  {
    const std::lock_guard lock(mutex_);
    while (fits && shelf_.bytes() + bytes > most) {
      fits = shelf_.evict(gone);
      counts_.evicted += fits;
    }
  }
  remove(gone);
  return fits;
}

void SnapshotStore::end(SnapshotSave& save, bool stored) {
  std::vector<std::string> gone;
  {
    const std::lock_guard lock(mutex_);
    shelf_.let_go(save.held, gone);
    saving_.erase(save.entry.key);
    ++(stored ? counts_.stored : counts_.skipped);
  }
  remove(gone);
}

void SnapshotStore::read() {
  for (;;) {
    std::shared_ptr<SnapshotLoad> load;
    {
      std::unique_lock lock(mutex_);
      read_.wait(lock, [&] { return stopping_ || !loads_.empty(); });
      if (stopping_) return;
      load = std::move(loads_.front());
      loads_.pop_front();
      if (Shelf::Entry* entry = shelf_.entry(load->prefix.entry.key)) ++entry->readers;
    }
    fetch(*load);
    {
      const std::lock_guard lock(mutex_);
      if (Shelf::Entry* entry = shelf_.entry(load->prefix.entry.key))
        entry->readers = std::max(0, entry->readers - 1);
    }
    wake_();
  }
}

void SnapshotStore::fetch(SnapshotLoad& load) {
  const SnapshotPrefix& prefix = load.prefix;
  bool good = true;
  for (size_t i = load.first_page; good && i < prefix.pages.size(); ++i)
    good = deliver(load, {Record::Kind::page, prefix.pages[i], i ? prefix.pages[i - 1] : root_, 0, false, ""},
                   identity_.page_bytes);
  good = good && deliver(load, prefix.entry, payload_bytes(prefix.entry.length));
  if (good)
    ::utimensat(AT_FDCWD, (directory_ / file_name(prefix.entry)).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  const auto used = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  load.over = true;
  load.failed = !good;
  if (!good) return;
  ++counts_.hits;
  counts_.reused_tokens += prefix.entry.length;
  if (Shelf::Entry* entry = shelf_.entry(prefix.entry.key)) entry->used = used;
}

// Reads and verifies one file and hands it to the engine's thread. False: the load is over.
bool SnapshotStore::deliver(SnapshotLoad& load, const RecordName& name, uint64_t bytes) {
  {
    std::unique_lock lock(mutex_);
    read_.wait(lock, [&] { return stopping_ || load.cancelled || load.ready.size() < most_ready; });
    if (stopping_ || load.cancelled) return false;
  }
  HostBuffer payload;
  try {
    const Record record = read_record(directory_, file_name(name), bytes, payload);
    if (record.root != root_) throw BadRecord{"belongs to another model"};
  } catch (const BadRecord& bad) {
    give_up(name, bad);
    return false;
  } catch (const std::bad_alloc&) {
    give_up(name, {"cannot be read (no memory)", ENOMEM});
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    load.ready.push_back(std::move(payload));
  }
  wake_();
  return true;
}

void SnapshotStore::give_up(const RecordName& name, const BadRecord& bad) {
  const std::string text = "snapshots: " + (directory_ / file_name(name)).string() + " " + bad.why;
  if (bad.error && bad.error != ENOENT && bad.error != EIO) return tell_once(bad.error, text);
  Job job{Job::Kind::remove, {}, 0, {}, {}};
  {
    const std::lock_guard lock(mutex_);
    const bool page = name.kind == Record::Kind::page;
    if (page ? !shelf_.has_page(name.key) : !shelf_.entry(name.key)) return;  // thrown out meanwhile
    if (page)
      shelf_.remove_page(name.key, job.names);
    else
      shelf_.remove_entry(name.key, job.names);
    ++counts_.corrupt;
  }
  push(std::move(job));
  tell_(text + "; it is removed, and what it was for is computed again");
}

}  // namespace lockstep::engine
