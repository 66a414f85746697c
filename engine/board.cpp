#include "engine/board.h"

#include <utility>

#include "engine/snapshots/store.h"

namespace lockstep::engine {

void Board::set_memory(std::vector<Status::Pool> memory) {
  const std::lock_guard lock(mutex_);
  status_.memory = std::move(memory);
}

void Board::set_snapshots(bool on, uint64_t budget) {
  const std::lock_guard lock(mutex_);
  status_.snapshots.on = on;
  status_.snapshots.budget = budget;
}

void Board::publish(const Runner& runner, const SnapshotStore* store) {
  const Runner::Counts& counts = runner.counts();
  const std::lock_guard lock(mutex_);
  status_.active = runner.active();
  status_.queued = runner.waiting();
  status_.served = counts.served;
  status_.cancelled = counts.cancelled;
  status_.failed = counts.failed;
  status_.prompt_tokens = counts.prompt_tokens;
  status_.reply_tokens = counts.reply_tokens;
  status_.rounds = counts.rounds;
  status_.guessed = counts.guessed;
  status_.guessed_right = counts.guessed_right;
  status_.drafts = counts.drafts;
  status_.begun_new = counts.begun_new;
  status_.begun_from_memory = counts.begun_from_memory;
  status_.begun_from_disk = counts.begun_from_disk;
  status_.last_round = Clock::now();
  status_.memory[1].used = runner.lane_bytes();
  status_.memory[3].used = runner.cache_bytes();
  const PromptCache::Counts& kept = runner.cache_counts();
  status_.cache = {kept.hits,          kept.misses,    kept.stored,        kept.evicted,
                   kept.reused_tokens, kept.ended_new, kept.ended_differs, kept.ended_evicted};
  if (!store) return;
  const SnapshotStore::Counts disk = store->counts();
  status_.snapshots = {true,         disk.hits,    disk.reused_tokens, disk.stored, disk.evicted,
                       disk.skipped, disk.corrupt, disk.written_bytes, disk.bytes,  status_.snapshots.budget};
}

void Board::count_refused() {
  const std::lock_guard lock(mutex_);
  ++status_.refused;
}

void Board::fault(const std::string& text) {
  const std::lock_guard lock(mutex_);
  status_.fault = text;
}

Status Board::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Board::on_beat(std::function<void()> beat) {
  const std::lock_guard lock(mutex_);
  beat_ = std::move(beat);
}

void Board::beat() {
  std::function<void()> beat;
  {
    const std::lock_guard lock(mutex_);
    beat = beat_;
  }
  if (beat) beat();
}

void Board::on_notice(std::function<void(const Notice&)> notice) {
  std::vector<Notice> before;
  {
    const std::lock_guard lock(mutex_);
    notice_ = notice;
    before.swap(early_notices_);
  }
  for (const Notice& one : before) notice(one);
}

void Board::tell(const Notice& one) {
  std::function<void(const Notice&)> notice;
  {
    const std::lock_guard lock(mutex_);
    notice = notice_;
    if (!notice && !one.detail) early_notices_.push_back(one);
  }
  if (notice) notice(one);
}

}  // namespace lockstep::engine
