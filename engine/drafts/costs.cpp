#include "engine/drafts/costs.h"

#include <algorithm>
#include <cmath>

namespace lockstep::engine {

double TimeByRows::measured(int rows, double seconds) {
  const auto at = seconds_.find(rows);
  if (at == seconds_.end()) {
    seconds_[rows] = seconds;
    return 1;
  }
  // One hiccup of the machine moves nothing by more than a tenth. Most of a change is put down to the
  // machine: what these rows keep of it for themselves still stands between them and others when it is over.
  const double ratio = std::clamp(seconds / at->second, 0.5, 2.0), all = std::pow(ratio, 0.1);
  at->second *= std::pow(ratio, 0.03);
  scale(all);
  return all;
}

void TimeByRows::scale(double factor) {
  for (auto& [count, time] : seconds_) time *= factor;
}

double TimeByRows::at(int rows) const {
  if (seconds_.empty()) return 0;
  auto above = seconds_.lower_bound(rows);
  if (above != seconds_.end() && (above->first == rows || above == seconds_.begin())) return above->second;
  if (above == seconds_.end()) --above;
  if (above == seconds_.begin()) return above->second;
  const auto below = std::prev(above);
  const double slope = (above->second - below->second) / (above->first - below->first);
  return std::max(below->second + slope * (rows - below->first), below->second);
}

Depths choose_depths(std::span<const DraftOffer> offers, const RoundCosts& costs, int most_rows,
                     double least_gain) {
  const int lanes = static_cast<int>(offers.size());
  std::vector<int> depth(lanes, 0);
  Depths best{depth};
  std::vector<double> next(lanes);  // chance that the lane's next guess counts
  for (int i = 0; i < lanes; ++i) next[i] = offers[i].chance.first;
  const double undrafted = costs.round.at(lanes);
  double tokens = lanes, seconds = undrafted;
  if (seconds <= 0) return best;
  double best_speed = tokens / seconds * least_gain, computed_seconds = 0;
  std::vector<int> computing;  // [step]: lanes with so many computed guesses and one more
  for (int rows = lanes + 1; rows <= most_rows; ++rows) {
    int lane = -1;
    for (int i = 0; i < lanes; ++i)
      if (depth[i] < offers[i].most && (lane < 0 || next[i] > next[lane])) lane = i;
    if (lane < 0 || next[lane] <= 0) break;
    tokens += next[lane];
    next[lane] *= offers[lane].chance.next;
    const int step = depth[lane]++;
    if (offers[lane].computed) {
      if (static_cast<int>(computing.size()) == step) computing.push_back(0);
      if (computing[step]) computed_seconds -= costs.draft.at(computing[step]);
      computed_seconds += costs.draft.at(++computing[step]);
    }
    seconds = costs.round.at(rows) + computed_seconds;
    if (tokens / seconds > best_speed) {
      best_speed = tokens / seconds;
      best = {depth, (costs.round.at(rows) - undrafted) / (rows - lanes) * best_speed};
    }
  }
  return best;
}

}  // namespace lockstep::engine
