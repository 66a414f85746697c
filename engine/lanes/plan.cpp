#include "engine/lanes/plan.h"

#include <algorithm>

namespace lockstep::engine {

std::vector<LaneShare> plan(std::span<const LaneNeed> needs, const RoundLimit& limit) {
  std::vector<int> rows(needs.size(), 0);
  std::vector<int> prompts;
  for (int i = 0; i < static_cast<int>(needs.size()); ++i) {
    if (needs[i].pending == 1) rows[i] = 1;
    if (needs[i].pending > 1) prompts.push_back(i);
  }
  int rows_left = limit.rows;
  double seconds_left = limit.seconds;
  const auto give = [&](int lane, int most, double seconds, int least) {
    const int first = needs[lane].position + rows[lane];
    const auto cost = [&](int count) {
      PromptWork work;
      work.add(count, first);
      return work.seconds(limit.cost);
    };
    most = std::min(most, needs[lane].pending - rows[lane]);
    int count = std::min(least, most);
    while (count < most && cost(count + 1) <= seconds) ++count;
    seconds_left -= cost(count);
    rows_left -= count;
    rows[lane] += count;
  };
  if (!prompts.empty()) {
    const int oldest = *std::ranges::min_element(prompts, {}, [&](int i) { return needs[i].order; });
    give(oldest, (rows_left + 1) / 2, seconds_left / 2, 1);
    std::ranges::sort(prompts, {}, [&](int i) { return std::pair(needs[i].pending, needs[i].order); });
    for (int lane : prompts)
      give(lane, rows_left, seconds_left, lane == prompts.front() && rows[lane] == 0 ? 1 : 0);
  }
  std::vector<LaneShare> shares;
  for (int i = 0; i < static_cast<int>(needs.size()); ++i)
    if (rows[i] > 0) shares.push_back({i, rows[i]});
  return shares;
}

}  // namespace lockstep::engine
