// The engine's memory: one budget, divided at start.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::engine {

// Bytes that a process may still take on this machine: the kernel's MemAvailable, or what is left under the
// control group's memory.max where that is less.
uint64_t available_memory();

// "1.5 GiB", "640 MiB", "12 KiB".
std::string in_words(uint64_t bytes);

}  // namespace lockstep::engine
