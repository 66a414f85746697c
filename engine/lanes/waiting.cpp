#include "engine/lanes/waiting.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::engine {
namespace {

bool has_begun(const Lane& lane) { return lane.admitted != Clock::time_point{}; }
bool is_late(const Lane& lane) { return lane.job.sampling.priority > Sampling::last_priority; }

}  // namespace

void Waiting::add(std::unique_ptr<Lane> lane) {
  const uint64_t owner = lane->job.owner;
  std::vector<std::unique_ptr<Lane>*> own;  // of the same owner, in their order
  if (!is_late(*lane)) {
    const auto begun = begun_.find(owner);
    uint64_t last = begun == begun_.end() ? 0 : begun->second;
    for (const auto& one : lanes_)
      if (!has_begun(*one) && !is_late(*one) && one->job.owner == owner) last = std::max(last, one->turn);
    lane->turn = std::max(now_, last + 1);
  }
  const auto later = [&](const std::unique_ptr<Lane>& one) {
    return !has_begun(*one) && std::pair(is_late(*one), one->turn) > std::pair(is_late(*lane), lane->turn);
  };
  Lane* const added = lanes_.insert(std::ranges::find_if(lanes_, later), std::move(lane))->get();
  if (is_late(*added)) return;
  for (auto& one : lanes_)
    if (!has_begun(*one) && !is_late(*one) && one->job.owner == owner) own.push_back(&one);
  // The places are the owner's; which of his requests has which is a matter of their priorities.
  for (size_t i = own.size() - 1; i > 0; --i) {
    Lane &before = **own[i - 1], &after = **own[i];
    if (before.job.sampling.priority <= after.job.sampling.priority) return;
    std::swap(before.turn, after.turn);
    std::swap(*own[i - 1], *own[i]);
  }
}

std::unique_ptr<Lane> Waiting::take_front() {
  std::unique_ptr<Lane> lane = std::move(lanes_.front());
  lanes_.pop_front();
  if (lane->turn > 0) {
    now_ = std::max(now_, lane->turn);
    begun_[lane->job.owner] = std::max(begun_[lane->job.owner], lane->turn);
    std::erase_if(begun_, [this](const auto& owner) { return owner.second < now_; });
  }
  return lane;
}

std::unique_ptr<Lane> Waiting::take(JobId id) {
  const auto at = std::ranges::find_if(lanes_, [id](const auto& lane) { return lane->id == id; });
  if (at == lanes_.end()) return nullptr;
  std::unique_ptr<Lane> lane = std::move(*at);
  lanes_.erase(at);
  return lane;
}

std::deque<std::unique_ptr<Lane>> Waiting::take_all() { return std::exchange(lanes_, {}); }

}  // namespace lockstep::engine
