// Loaded into lockstepd before its libraries: after SIGUSR2 the clocks are what they are when a machine wakes
// up, with eight hours gone by for all of them but CLOCK_MONOTONIC.
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<time_t> slept{0};

void sleep_eight_hours(int) { slept = time_t{8} * 3600; }

__attribute__((constructor)) void listen() { signal(SIGUSR2, sleep_eight_hours); }

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)) now->tv_sec += slept;
  return static_cast<int>(result);
}

extern "C" time_t time(time_t* result) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
