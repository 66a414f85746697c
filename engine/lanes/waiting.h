// Requests that wait for a lane. Their owners take turns: who has many waiting has his first beside the first
// of another and his second beside the second, whenever each came. Among an owner's the lower priority goes
// first, then the earlier one. Owners' turns are start-time tags as in fair queueing (Goyal, Vin, Cheng,
// 1996).
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "engine/lanes/lane.h"

namespace lockstep::engine {

class Waiting {
 public:
  bool empty() const { return lanes_.empty(); }
  int size() const { return static_cast<int>(lanes_.size()); }
  void add(std::unique_ptr<Lane>);
  // One that has begun already goes on before all others.
  void put_back(std::unique_ptr<Lane> lane) { lanes_.push_front(std::move(lane)); }
  Lane& front() { return *lanes_.front(); }
  std::unique_ptr<Lane> take_front();
  std::unique_ptr<Lane> take(JobId);  // null: it does not wait
  std::deque<std::unique_ptr<Lane>> take_all();

 private:
  std::deque<std::unique_ptr<Lane>> lanes_;  // in the order in which they begin
  uint64_t now_ = 0;                         // the turn of the one that began last
  std::map<uint64_t, uint64_t> begun_;       // owners' last turns that began, where they are not before now_
};

}  // namespace lockstep::engine
