// Threads for a loop of short operations (5 to 100 microseconds each).
//
// run() cuts the tasks into one contiguous range a thread. A thread takes tasks from its own range, then from
// the ranges of others, so a thread that the system holds up delays nobody but the task it is in; a thread
// that is late finds nothing to do and is not waited for. Waiting threads spin for a bounded time and then
// sleep: an idle pool uses no CPU. Which thread runs a task is not defined and must not change a result.
//
// Cost of a run: the caller writes one cache line per worker, each worker writes one line back.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace lockstep::kernels::cpu {

class Pool {
 public:
  // threads counts the caller's; 0 means one for each CPU this process may use. Throws std::system_error.
  explicit Pool(int threads = 0);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // f(task) for each task in [0, tasks), or f(first, last) for ranges of them, and returns when all are done.
  // One caller at a time, never from inside a task. Rethrows the first exception of a task; tasks may then be
  // left out.
  template <class F>
  void run(int tasks, const F& f) {
    const Call call = [](const void* context, int first, int last) {
      const F& each = *static_cast<const F*>(context);
      if constexpr (std::is_invocable_v<const F&, int, int>) {
        each(first, last);
      } else {
        for (int task = first; task < last; ++task) each(task);
      }
    };
    if (tasks <= 0) return;
    if (workers_.empty() || tasks == 1) {
      call(&f, 0, tasks);
    } else {
      run_shared(tasks, call, &f);
    }
  }

 private:
  using Call = void (*)(const void* context, int first, int last);
  // Tasks not yet taken of one thread's range: run number, next and end, in chunks of the run's size. All
  // in one word, so that a thread of an earlier run can never take a task of a later one.
  struct alignas(128) Range {
    std::atomic<uint64_t> left{0};
  };
  struct alignas(128) Worker {
    std::atomic<uint64_t> done{0};  // chunks finished since the start
    std::atomic<uint32_t> asleep{0};
    std::thread thread;
  };
  struct Job {
    Call call;
    const void* context;
    int tasks;
    int chunk;
  };

  void run_shared(int tasks, Call call, const void* context);
  void work(int self);
  bool wait_for_run(int self, uint32_t& run);
  uint64_t take_all(int self, uint32_t run);
  uint64_t take(Range& range, uint32_t run);
  void execute(const Job& job, int first, int count);

  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Range[]> ranges_;  // [threads()]; the caller's is the last
  uint32_t run_ = 0;                 // of the caller
  uint64_t given_ = 0;               // chunks handed out since the start
  uint64_t own_ = 0;                 // of them, finished by the caller

  // The job of the run. Read by late threads too, hence atomic; used only after a task of the run is taken.
  alignas(128) std::atomic<Call> call_{nullptr};
  std::atomic<const void*> context_{nullptr};
  std::atomic<int> tasks_{0}, chunk_{1};
  std::atomic<bool> stop_{false};

  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace lockstep::kernels::cpu
