#include "kernels/cpu/pool.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace lockstep::kernels::cpu {
namespace {

constexpr auto spin_time = std::chrono::microseconds(50);
constexpr int most_chunks = 65535;  // of one range: 16 bits

int usable_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1,
                  static_cast<int>(std::thread::hardware_concurrency()));  // more CPUs than cpu_set_t holds
}

uint64_t pack_range(uint32_t run, uint32_t next, uint32_t end) {
  return static_cast<uint64_t>(run) << 32 | next << 16 | end;
}
uint32_t run_of(uint64_t range) { return static_cast<uint32_t>(range >> 32); }
uint32_t next_of(uint64_t range) { return static_cast<uint32_t>(range >> 16) & 0xffff; }
uint32_t end_of(uint64_t range) { return static_cast<uint32_t>(range) & 0xffff; }

// Spins until ready() or the time is up; true when ready.
template <class Ready>
bool spin(const Ready& ready) {
  const auto limit = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < limit);
  return false;
}

}  // namespace

Pool::Pool(int threads) {
  if (threads <= 0) threads = usable_cpus();
  ranges_ = std::make_unique<Range[]>(static_cast<size_t>(threads));
  for (int i = 0; i + 1 < threads; ++i) workers_.push_back(std::make_unique<Worker>());
  for (int i = 0; i + 1 < threads; ++i) workers_[i]->thread = std::thread([this, i] { work(i); });
}

Pool::~Pool() {
  stop_.store(true);
  ++run_;
  for (size_t i = 0; i < workers_.size(); ++i) {
    ranges_[i].left.store(pack_range(run_, 0, 0));
    workers_[i]->asleep.store(0);
    workers_[i]->asleep.notify_one();
  }
  for (auto& worker : workers_) worker->thread.join();
}

void Pool::run_shared(int tasks, Call call, const void* context) {
  const int all = threads();
  const int chunk = (tasks + most_chunks - 1) / most_chunks;
  const int64_t chunks = (tasks + chunk - 1) / chunk;
  call_.store(call, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  tasks_.store(tasks, std::memory_order_relaxed);
  chunk_.store(chunk, std::memory_order_relaxed);
  ++run_;
  given_ += static_cast<uint64_t>(chunks);
  for (int i = 0; i < all; ++i) {
    const auto first = static_cast<uint32_t>(chunks * i / all),
               last = static_cast<uint32_t>(chunks * (i + 1) / all);
    ranges_[i].left.store(pack_range(run_, first, last), std::memory_order_release);
  }
  // A worker that falls asleep just now may be missed; then its range is taken by the others.
  for (auto& worker : workers_) {
    if (worker->asleep.load(std::memory_order_relaxed) == 0) continue;
    worker->asleep.store(0, std::memory_order_relaxed);
    worker->asleep.notify_one();
  }
  own_ += take_all(all - 1, run_);
  const auto finished = [this] {
    uint64_t done = own_;
    for (const auto& worker : workers_) done += worker->done.load(std::memory_order_acquire);
    return done == given_;
  };
  while (!spin(finished)) std::this_thread::yield();  // a worker inside a long task, or held up
  if (failed_.load(std::memory_order_relaxed)) {
    failed_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void Pool::work(int self) {
  Worker& worker = *workers_[self];
  uint32_t run = 0;
  while (wait_for_run(self, run)) {
    const uint64_t count = take_all(self, run);
    if (count)
      worker.done.store(worker.done.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
}

// Until the worker's own range shows another run than the one seen, which `run` then is: what comes after it
// is another one again. False when the pool stops.
bool Pool::wait_for_run(int self, uint32_t& run) {
  const uint32_t seen = run;
  const auto fresh = [&] {
    run = run_of(ranges_[self].left.load(std::memory_order_acquire));
    return run != seen;
  };
  while (!spin(fresh)) {
    auto& asleep = workers_[self]->asleep;
    asleep.store(1);
    if (run_of(ranges_[self].left.load()) == seen) asleep.wait(1);
    asleep.store(0);
  }
  return !stop_.load(std::memory_order_relaxed);
}

// Runs chunks until the run has none left. Returns how many.
uint64_t Pool::take_all(int self, uint32_t run) {
  uint64_t count = 0;
  const int all = threads();
  for (int i = 0; i < all; ++i) count += take(ranges_[(self + i) % all], run);
  return count;
}

uint64_t Pool::take(Range& range, uint32_t run) {
  uint64_t count = 0, left = range.left.load(std::memory_order_acquire);
  while (run_of(left) == run && next_of(left) < end_of(left)) {
    const Job job{call_.load(std::memory_order_relaxed), context_.load(std::memory_order_relaxed),
                  tasks_.load(std::memory_order_relaxed), chunk_.load(std::memory_order_relaxed)};
    const uint32_t next = next_of(left), end = end_of(left), some = std::max(1u, (end - next) / 4);
    // Success says that the run is still on, so the job read above is its own.
    if (!range.left.compare_exchange_weak(left, pack_range(run, next + some, end), std::memory_order_acq_rel,
                                          std::memory_order_acquire))
      continue;
    execute(job, static_cast<int>(next), static_cast<int>(some));
    count += some;
    left = range.left.load(std::memory_order_acquire);
  }
  return count;
}

void Pool::execute(const Job& job, int first, int count) {
  const int64_t begin = static_cast<int64_t>(first) * job.chunk;
  const int64_t end = std::min<int64_t>(job.tasks, begin + static_cast<int64_t>(count) * job.chunk);
  try {
    job.call(job.context, static_cast<int>(begin), static_cast<int>(end));
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
  }
}

}  // namespace lockstep::kernels::cpu
