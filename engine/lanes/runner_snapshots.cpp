// The runner's dealings with the snapshot store.
#include <thread>

#include "engine/lanes/runner.h"

namespace lockstep::engine {

// Begins to load what the disk knows of the lane's tokens, if it is more than memory does. The lane keeps the
// state that it has until all is there.
bool Runner::fetch(Lane& lane) {
  constexpr int least_gain = 16;  // tokens, for a lane that begins somewhere already
  if (!courier_ || lane.scoring()) return false;
  auto prefix = store_->find(lane.tokens, lane.done ? lane.done + least_gain - 1 : 0);
  if (!prefix) return false;
  while (static_cast<int>(lane.pages.size()) < pages_for(prefix->entry.length)) {
    if (!free_pages(1)) return false;
    lane.pages.push_back(pages_.take());
  }
  lane.loaded_pages = lane.done / kernels::page_positions;
  lane.load = store_->load(std::move(*prefix), lane.loaded_pages);
  return true;
}

// Lets lanes go on whose load has come or failed.
void Runner::land() {
  for (size_t i = 0; i < loading_.size();) {
    Lane& lane = *loading_[i];
    const auto arrival = courier_->receive(*lane.load, lane.pages, lane.loaded_pages, lane.slot);
    if (arrival == Courier::Arrival::coming) {
      ++i;
      continue;
    }
    const RecordName entry = lane.load->prefix.entry;
    lane.load.reset();
    if (arrival == Courier::Arrival::here) {
      lane.done = entry.length;
      lane.from_disk = true;
      keep(lane, entry.system);
    } else if (fetch(lane)) {
      ++i;
      continue;
    }
    go_on(std::move(loading_[i]));
    loading_.erase(loading_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Gives what is being saved to the store's thread, for at most so long.
void Runner::finish_saves(std::chrono::milliseconds most) {
  using namespace std::chrono_literals;
  const auto deadline = Clock::now() + most;
  while (courier_ && courier_->sending() && Clock::now() < deadline) {
    courier_->turn();
    std::this_thread::sleep_for(1ms);
  }
}

// Tells what was known of a new lane's prompt, and why no more.
void Runner::trace(const Lane& lane) {
  const int length = lane.prompt_tokens();
  const PromptCache::Stop stop = cache_.why(std::span(lane.tokens).first(length), lane.done);
  using Why = PromptCache::Stop::Why;
  std::string text = "prompt cache: " + std::to_string(lane.done) + " of " + std::to_string(length) +
                     " tokens known" + (lane.from_disk ? ", from disk" : "");
  switch (stop.why) {
    case Why::whole: break;
    case Why::fresh: text += "; nothing kept goes on from there"; break;
    case Why::differs:
      text += "; one that was kept is the same up to token " + std::to_string(stop.at);
      break;
    case Why::evicted: text += "; " + std::to_string(stop.at) + " were known and thrown out"; break;
  }
  tell_({true, std::move(text)});
}

}  // namespace lockstep::engine
