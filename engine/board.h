// What the engine's thread tells everybody else: its status, beats and notices. Threads: any.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/lanes/runner.h"

namespace lockstep::engine {

class Board {
 public:
  // In this order: weights, kv_pages, states, prompt_cache, and whatever else there is.
  void set_memory(std::vector<Status::Pool>);
  void set_snapshots(bool on, uint64_t budget);
  // What is true after a round; `store` may be null.
  void publish(const Runner&, const SnapshotStore* store);
  void count_refused();
  void fault(const std::string& text);
  Status status() const;

  void on_beat(std::function<void()>);
  void beat();
  // Whoever listens first also gets what was told before, but for details.
  void on_notice(std::function<void(const Notice&)>);
  void tell(const Notice&);

 private:
  mutable std::mutex mutex_;
  Status status_{};
  std::function<void()> beat_;
  std::function<void(const Notice&)> notice_;
  std::vector<Notice> early_notices_;
};

}  // namespace lockstep::engine
