// The only way into the engine's thread: jobs and cancels, in order of arrival.
//
// Threads: any; take() is the engine's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/lanes/lane.h"

namespace lockstep::engine {

class Inbox {
 public:
  struct Mail {
    std::vector<std::unique_ptr<Lane>> jobs;
    std::vector<JobId> cancels;
    bool stop = false;
  };
  explicit Inbox(int most_waiting) : most_waiting_(most_waiting) {}

  enum class Answer { taken, full, closed };
  // `lane` is moved from only when it is taken.
  Answer submit(std::unique_ptr<Lane>& lane) {
    const std::lock_guard lock(mutex_);
    if (closed_) return Answer::closed;
    if (waiting_ + static_cast<int>(mail_.jobs.size()) >= most_waiting_) return Answer::full;
    mail_.jobs.push_back(std::move(lane));
    changed_.notify_one();
    return Answer::taken;
  }
  // No more jobs are taken.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void cancel(JobId id) {
    const std::lock_guard lock(mutex_);
    mail_.cancels.push_back(id);
    changed_.notify_one();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    mail_.stop = true;
    changed_.notify_one();
  }
  // take() returns.
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  // What has come; waits up to `patience` for something. `waiting`: jobs taken before that have no lane yet;
  // they count against the limit.
  Mail take(int waiting, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    waiting_ = waiting;
    const auto something = [&] {
      return woken_ || !mail_.jobs.empty() || !mail_.cancels.empty() || mail_.stop;
    };
    if (patience.count()) changed_.wait_for(lock, patience, something);
    woken_ = false;
    Mail taken = std::move(mail_);
    mail_ = {};
    mail_.stop = taken.stop;
    waiting_ += static_cast<int>(taken.jobs.size());
    return taken;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Mail mail_;
  bool closed_ = false, woken_ = false;
  int most_waiting_;
  int waiting_ = 0;
};

}  // namespace lockstep::engine
