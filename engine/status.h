// What an engine tells of itself: counts since its start, memory, and faults. Part of the door, engine.h.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::engine {

struct Status {
  int active, queued;  // lanes in use, jobs waiting
  uint64_t served, cancelled, refused, failed;
  uint64_t prompt_tokens, reply_tokens, rounds;
  std::chrono::steady_clock::time_point last_round;  // when the engine's loop last turned
  struct Pool {
    std::string name;
    uint64_t bytes, used;
  };
  std::vector<Pool> memory;  // weights, kv_pages, states, prompt_cache, scratch
  struct Cache {             // prefixes in memory
    uint64_t hits, misses, stored, evicted, reused_tokens;
    // Why prompts were not known further: nothing kept goes on so, what does is longer, it was thrown out.
    uint64_t ended_new, ended_differs, ended_evicted;
  };
  Cache cache{};
  uint64_t guessed, guessed_right;  // tokens tried as drafts, and those that stood
  static constexpr int deepest_draft = 8;
  struct Depth {
    uint64_t guessed, right;
  };
  std::array<Depth, deepest_draft> drafts{};  // the same of first guesses, second ones, ...
  // Requests by where what was known of their prompts came from.
  uint64_t begun_new, begun_from_memory, begun_from_disk;
  struct Snapshots {  // prefixes on disk
    bool on;          // false: no directory, or it cannot be used
    uint64_t hits, reused_tokens, stored, evicted;
    uint64_t skipped;  // not written: the queue or the disk was full, or too large
    uint64_t corrupt;  // files that were not what they should be; they are removed
    uint64_t written_bytes, bytes, budget;
  };
  Snapshots snapshots{};
  std::string fault;  // not empty: the device is lost, the engine serves no more; open a new one
};

}  // namespace lockstep::engine
