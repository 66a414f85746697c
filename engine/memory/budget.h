// The engine's memory: one budget, divided at start.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::engine {

// Bytes that a process may still take on this machine: the kernel's MemAvailable, or what is left under the
// control group's memory.max where that is less.
uint64_t available_memory();

// The budget when none is set: three quarters of what a device has free of its own, or, when that is 0, of
// the machine's.
uint64_t memory_share(uint64_t of_device);

// How a budget is divided among the lanes' KV pages and the prompt cache. All in bytes, or KV pages.
struct Demand {
  uint64_t budget;
  uint64_t fixed;        // weights, scratch, states of all lanes
  uint64_t state, page;  // one state, one page
  int lane_pages;        // of the longest request
  int lanes;
  uint64_t cache;  // for the prompt cache; 0: half of what is left, at most 1 GiB
};
struct Division {
  uint64_t least;  // what one request takes; when it is above the budget the rest means nothing
  int cache_slots, cache_pages, lanes_pages;
};
Division divide(const Demand& demand);

// "1.5 GiB", "640 MiB", "12 KiB".
std::string in_words(uint64_t bytes);

}  // namespace lockstep::engine
