// Which lanes take part in a round, and with how many rows. A pure function: what a row computes does not
// depend on the plan, so the plan only has to be fair and quick.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::engine {

struct LaneNeed {
  int pending;     // tokens that have not been through the model; 1 is a decoding lane
  uint64_t order;  // of arrival
};
struct LaneShare {
  int lane;  // index into the needs
  int rows;
};

// Every decoding lane gets its row. `prompt_rows` rows go to the others: half of them to the one that came
// first, so that it gets on, the rest to the shortest first, so that a short prompt does not wait for a long
// one. Shares are in order of lane.
std::vector<LaneShare> plan(std::span<const LaneNeed> needs, int prompt_rows);

}  // namespace lockstep::engine
