// Which lanes take part in a round, and with how many rows. A pure function: what a row computes does not
// depend on the plan, so the plan only has to be fair and quick.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lockstep::engine {

struct LaneNeed {
  int pending;     // tokens that have not been through the model; 1 is a decoding lane
  int position;    // of the first of them
  uint64_t order;  // of arrival
};
struct LaneShare {
  int lane;  // index into the needs
  int rows;
};

// What a row of a prompt adds to a round's time: seconds of its own, and for each position before it, as
// attention reads them all.
struct PromptCost {
  double row = 0, position = 0;
};
// Rows of prompts, and the positions before each of them in all.
struct PromptWork {
  double rows = 0, positions = 0;

  void add(int count, int first_position) {
    rows += count;
    positions += static_cast<double>(count) * first_position + 0.5 * count * (count - 1);
  }
  double seconds(const PromptCost& cost) const { return rows * cost.row + positions * cost.position; }
};

// What the prompts of a round may take.
struct RoundLimit {
  int rows;
  double seconds = std::numeric_limits<double>::infinity();
  PromptCost cost{};
};

// Every decoding lane gets its row. What the limit allows goes to the others: half of it to the one that came
// first, so that it gets on, the rest to the shortest first, so that a short prompt does not wait for a long
// one. These two get a row each even where that is above the limit. Shares are in order of lane.
std::vector<LaneShare> plan(std::span<const LaneNeed> needs, const RoundLimit& limit);

}  // namespace lockstep::engine
