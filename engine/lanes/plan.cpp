#include "engine/lanes/plan.h"

#include <algorithm>

namespace lockstep::engine {

std::vector<LaneShare> plan(std::span<const LaneNeed> needs, int prompt_rows) {
  std::vector<int> rows(needs.size(), 0);
  std::vector<int> prompts;
  for (int i = 0; i < static_cast<int>(needs.size()); ++i) {
    if (needs[i].pending == 1) rows[i] = 1;
    if (needs[i].pending > 1) prompts.push_back(i);
  }
  const auto give = [&](int lane, int most) {
    const int count = std::min(most, needs[lane].pending - rows[lane]);
    rows[lane] += count;
    prompt_rows -= count;
  };
  if (!prompts.empty()) {
    const int oldest = *std::ranges::min_element(prompts, {}, [&](int i) { return needs[i].order; });
    give(oldest, (prompt_rows + 1) / 2);
    std::ranges::sort(prompts, {}, [&](int i) { return std::pair(needs[i].pending, needs[i].order); });
    for (int lane : prompts) give(lane, prompt_rows);
  }
  std::vector<LaneShare> shares;
  for (int i = 0; i < static_cast<int>(needs.size()); ++i)
    if (rows[i] > 0) shares.push_back({i, rows[i]});
  return shares;
}

}  // namespace lockstep::engine
