// Whether the machine was suspended. A GPU's memory may not survive that, and drivers do not tell; what was
// computed from it must not be taken for a result.
#pragma once

#include <ctime>

#include <chrono>

namespace lockstep::kernels::gpu {

// Time that the machine has spent suspended since it was started: it lies between the two, which differ by
// what taking the times took.
struct TimeAsleep {
  std::chrono::nanoseconds least, most;
};

// CLOCK_BOOTTIME goes on while the machine sleeps and CLOCK_MONOTONIC stands still; nothing else sets them
// apart (clock_gettime(2)). Both come without a system call.
inline TimeAsleep time_asleep() {
  const auto now = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto before = now(CLOCK_MONOTONIC), since_boot = now(CLOCK_BOOTTIME), after = now(CLOCK_MONOTONIC);
  return {since_boot - after, since_boot - before};
}

}  // namespace lockstep::kernels::gpu
