// What the model knew after a prefix of tokens, kept for requests that begin the same way: KV pages, shared
// with lanes and other entries, and a copy of the recurrent state in a slot of its own.
//
// Prompts and replies are one arithmetic, so any prefix that has been through the model can be kept. This
// class is bookkeeping only; who calls it copies pages and states. Threads: the engine's.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <span>
#include <vector>

#include "engine/memory/page_pool.h"

namespace lockstep::engine {

class PromptCache {
 public:
  struct Entry {
    std::vector<int32_t> tokens;  // the prefix
    std::vector<int32_t> pages;   // KV of its positions; the last page may be filled beyond them by others
    int slot;                     // recurrent state after the last of its tokens
    bool border;                  // end of a system prompt: likely to be shared, thrown out last
  };
  struct Counts {
    uint64_t hits = 0, misses = 0, stored = 0, evicted = 0, reused_tokens = 0;
    uint64_t ended_new = 0, ended_differs = 0, ended_evicted = 0;  // of why()
  };
  // Why no more of a prompt was known.
  struct Stop {
    enum class Why {
      whole,    // all but its last token was
      fresh,    // no entry goes on as the prompt does
      differs,  // the longest of those that do goes up to token `at`, but the entry is longer
      evicted,  // an entry of `at` tokens would have been it, and was thrown out
    } why;
    int at = 0;
  };

  // `slots`: recurrent-state slots that are the cache's own; `most_pages`: pages that entries may hold,
  // each counted once.
  PromptCache(PagePool& pages, std::vector<int> slots, int most_pages);

  // The longest entry that is a prefix of `tokens` and leaves at least one of them; null when there is none.
  // The entry stays until the next call of a member that is not const.
  const Entry* find(std::span<const int32_t> tokens);
  bool has(std::span<const int32_t> tokens) const;
  // Why no more than the first `known` tokens were found.
  Stop why(std::span<const int32_t> tokens, int known);

  // Makes room for an entry with these pages by throwing others out. The slot for its state, or -1 when the
  // cache is too small for it.
  int make_room(std::span<const int32_t> pages);
  // Keeps a prefix whose state is in `slot`, from make_room(). Its pages get one holder more.
  void add(std::span<const int32_t> tokens, std::span<const int32_t> pages, int slot, bool border);
  // Throws out the entry that is missed least. False when there is none.
  bool evict();

  const Counts& counts() const { return counts_; }
  int entries() const { return static_cast<int>(entries_.size()); }
  int pages_held() const { return pages_held_; }

 private:
  using Entries = std::list<Entry>;  // most recently used first
  static uint64_t hash(std::span<const int32_t> tokens);
  const Entry* look(std::span<const int32_t> prefix, uint64_t prefix_hash) const;

  PagePool& pages_;
  std::vector<int> free_slots_;
  const int most_pages_;
  std::vector<int> holds_;  // [pages of the pool]: entries that hold the page
  int pages_held_ = 0;
  Entries entries_;
  // By length, then hash: an index only, the tokens decide.
  std::map<size_t, std::multimap<uint64_t, Entries::iterator>> index_;
  std::deque<std::pair<size_t, uint64_t>> thrown_out_;  // length and hash of the last ones
  Counts counts_;
};

}  // namespace lockstep::engine
