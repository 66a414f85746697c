#include "engine/lanes/runner.h"

#include <algorithm>
#include <numeric>

#include "engine/lanes/token_hash.h"

namespace lockstep::engine {
namespace {

// The first comes last, which is taken first.
std::vector<int> slots_from(int first, int count) {
  std::vector<int> slots(count);
  std::iota(slots.rbegin(), slots.rend(), first);
  return slots;
}

}  // namespace

Runner::Runner(kernels::Device& device, const ModelConfig& config, const Tokenizer& tokenizer,
               Forward& forward, const Limits& limits, SnapshotStore* store,
               std::function<void(const Notice&)> tell)
    : device_(device),
      config_(config),
      tokenizer_(tokenizer),
      forward_(forward),
      limits_(limits),
      pace_(limits.chunk),
      pages_(limits.pages),
      cache_(pages_, slots_from(limits.lanes, limits.cache_slots), limits.cache_pages),
      store_(store),
      tell_(std::move(tell)),
      message_start_(tokenizer.id("<|im_start|>")),
      logits_(device, forward),
      spoiler_(config.vocabulary),
      touched_slots_(limits.lanes) {
  if (forward.has_draft_head()) head_.emplace(forward, logits_, costs_.draft);
  for (int slot = limits.lanes - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  if (store) courier_.emplace(*store, forward_, pages_);
}

void Runner::cancel(JobId id) {
  const auto same = [id](const std::unique_ptr<Lane>& lane) { return lane->id == id; };
  std::unique_ptr<Lane> lane = waiting_.take(id);
  if (!lane) {
    for (Lanes* lanes : {&loading_, &active_})
      if (auto running = std::ranges::find_if(*lanes, same); running != lanes->end()) {
        lane = std::move(*running);
        lanes->erase(running);
        release(*lane);
        break;
      }
    if (!lane) return;
  }
  ++counts_.cancelled;
  lane->job.sink->failed({RequestError::Kind::cancelled, "the request was cancelled"});
}

void Runner::fail_all(const RequestError& error) {
  for (Lanes* lanes : {&loading_, &active_}) {
    for (auto& lane : *lanes) {
      release(*lane);
      waiting_.put_back(std::move(lane));
    }
    lanes->clear();
  }
  for (auto& lane : waiting_.take_all()) {
    ++counts_.failed;
    lane->job.sink->failed(error);
  }
}

void Runner::admit() {
  while (!waiting_.empty() && !free_slots_.empty()) {
    Lane& lane = waiting_.front();
    // A lane that was set aside before comes back only when it can go on without pushing others out.
    if (active() && !free_pages(pages_for(static_cast<int>(lane.tokens.size()) + 1))) return;
    lane.slot = free_slots_.back();
    free_slots_.pop_back();
    if (lane.admitted == Clock::time_point{}) lane.admitted = Clock::now();
    const bool fresh = lane.job.sampling.fresh;
    if (!fresh) resume(lane);
    const bool fetched = !fresh && fetch(lane);
    std::unique_ptr<Lane> taken = waiting_.take_front();
    if (fetched)
      loading_.push_back(std::move(taken));
    else
      go_on(std::move(taken));
  }
}

// Its prefix is there: the lane takes part in rounds.
void Runner::go_on(std::unique_ptr<Lane> lane) {
  if (lane->job.time_kernels) device_.time_kernels(true);
  lane->borders.clear();
  const std::span<const int32_t> tokens(lane->tokens);
  for (const Border& border : borders(tokens.first(lane->prompt_tokens()), message_start_))
    if (border.position > lane->done && !cache_.has(tokens.first(border.position)))
      lane->borders.push_back(border);
  if (!std::exchange(lane->begun, true)) {
    lane->reply.cached_tokens = lane->done;
    ++(lane->done == 0   ? counts_.begun_new
       : lane->from_disk ? counts_.begun_from_disk
                         : counts_.begun_from_memory);
    if (!lane->job.sampling.fresh) trace(*lane);
  }
  active_.push_back(std::move(lane));
}

// Begins with the longest prefix that the cache knows.
void Runner::resume(Lane& lane) {
  if (lane.scoring()) return;
  if (const PromptCache::Entry* entry = cache_.find(lane.tokens)) {
    lane.done = static_cast<int>(entry->tokens.size());
    lane.pages = entry->pages;
    pages_.share(lane.pages);
    forward_.copy_state(entry->slot, lane.slot);
    // The lane will write into the page that its prefix ends in: it takes a copy, unless there is no room.
    if (lane.done % kernels::page_positions != 0) {
      std::vector<int32_t> shared = {lane.pages.back()};
      lane.pages.pop_back();
      if (free_pages(1)) {
        lane.pages.push_back(pages_.take());
        forward_.copy_page(shared[0], lane.pages.back());
      } else {
        pages_.give_back(lane.pages);
        lane.done = 0;
      }
      pages_.give_back(shared);
    }
  }
}

// Keeps what the model knows after the lane's `done` tokens.
void Runner::keep(const Lane& lane, bool system) {
  const auto prefix = std::span(lane.tokens).first(lane.done);
  if (cache_.has(prefix)) return;
  const auto pages = std::span(lane.pages).first(pages_for(lane.done));
  const int slot = cache_.make_room(pages);
  if (slot < 0) return;
  touched_slots_ = std::max(touched_slots_, slot + 1);
  forward_.copy_state(lane.slot, slot);
  cache_.add(prefix, pages, slot, system);
}

// The same for the disk.
void Runner::save(const Lane& lane, bool system) {
  const auto prefix = std::span(lane.tokens).first(lane.done);
  if (courier_) courier_->send(prefix, std::span(lane.pages).first(pages_for(lane.done)), lane.slot, system);
}

// Makes the cache, then saves, give up what they hold until so many pages are free.
bool Runner::free_pages(int count) {
  while (pages_.available() < count)
    if (!cache_.evict() && !(courier_ && courier_->drop())) return false;
  return true;
}

bool Runner::make_ready() {
  constexpr uint64_t ahead = 32 << 20, at_once = 4 << 20;  // bytes of states, and of pages
  const auto go_on = [&](int& ready, int used, int all, uint64_t each, auto prepare) {
    const auto count = [&](uint64_t bytes) {
      return static_cast<int>(bytes / std::max<uint64_t>(each, 1)) + 1;
    };
    const int wanted = std::min(all, used + count(ahead)), now = std::min(wanted - ready, count(at_once));
    if (now > 0) (forward_.*prepare)(std::exchange(ready, ready + now), now);
    return ready < wanted;
  };
  return go_on(ready_slots_, touched_slots_, limits_.lanes + limits_.cache_slots, forward_.state_bytes(),
               &Forward::prepare_states) ||
         go_on(ready_pages_, pages_.touched(), limits_.pages, forward_.page_bytes(), &Forward::prepare_pages);
}

void Runner::release(Lane& lane) {
  if (lane.job.time_kernels) device_.time_kernels(false);
  if (lane.load) store_->cancel(*lane.load);
  lane.load.reset();
  pages_.give_back(lane.pages);
  if (lane.slot >= 0) free_slots_.push_back(lane.slot);
  lane.slot = -1;
  lane.done = 0;
  lane.forget_guesses();
  lane.head_held = 0;
}

// Takes a lane's memory away; it will read its tokens again, to the same bits.
void Runner::set_aside(Lane& lane) {
  const auto at = std::ranges::find_if(active_, [&](const auto& other) { return other.get() == &lane; });
  release(lane);
  waiting_.put_back(std::move(*at));
  active_.erase(at);
}

// Pages for the lane's first `positions` positions; false when younger lanes hold too few to take.
bool Runner::reserve(Lane& lane, int positions) {
  while (static_cast<int>(lane.pages.size()) < pages_for(positions)) {
    if (!free_pages(1)) {
      Lane* youngest =
          std::ranges::max_element(active_, {}, [](const auto& other) { return other->id; })->get();
      set_aside(*youngest);
      if (youngest == &lane) return false;
      continue;
    }
    lane.pages.push_back(pages_.take());
  }
  return true;
}

}  // namespace lockstep::engine
