// A check of the laws on the engine that serves, run on a thread of its own while the I/O thread looks on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace boost::asio {
class thread_pool;
}

namespace lockstep::daemon {

class LawCheck {
 public:
  // The engine outlives the threads of the pool.
  static std::shared_ptr<LawCheck> begin(boost::asio::thread_pool& pool, engine::Engine& engine, int trials,
                                         unsigned seed);

  void stop() { stopped_ = true; }  // once the trials in work are over
  bool over() const { return over_; }
  // The law in work, if its counts have changed since the last call.
  std::optional<engine::LawCount> progress();
  // Once it is over: what came of it, or the error that ended it.
  std::vector<engine::LawCount> laws() const;
  std::string error() const;

 private:
  void run(engine::Engine& engine, int trials, unsigned seed);

  std::atomic<bool> stopped_ = false, over_ = false;
  mutable std::mutex mutex_;  // of what follows
  std::optional<engine::LawCount> latest_;
  std::vector<engine::LawCount> laws_;
  std::string error_;
};

}  // namespace lockstep::daemon
