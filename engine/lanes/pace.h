// What prompts may take of a round beside decoding lanes, from measured times, so that the gap between two
// tokens of a stream stays within a few normal ones.
#pragma once

#include <algorithm>
#include <cmath>

#include "engine/lanes/plan.h"

namespace lockstep::engine {

class Pace {
 public:
  // A round with prompts takes so many rounds without. Streams are promised 4: what a machine does besides,
  // and what is copied at a border, has to fit in.
  static constexpr double rounds = 2.5;

  explicit Pace(int most_rows) : most_rows_(most_rows) {}

  // What was measured before the first round.
  void begin(PromptCost cost) { cost_ = cost; }
  // A round's prompts took so long. What differs is put down to the machine, and more of it to what was
  // expected to take most of the time: rows or positions.
  void measured(const PromptWork& work, double seconds) {
    const double expected = work.seconds(cost_);
    if (expected <= 0) return;
    // One hiccup moves nothing by more than a quarter.
    const double change = std::log(std::clamp(seconds / expected, 0.5, 2.0));
    const double of_rows = work.rows * cost_.row / expected;
    cost_.row *= std::exp(change * (0.1 + 0.2 * of_rows));
    cost_.position *= std::exp(change * (0.1 + 0.2 * (1 - of_rows)));
  }
  const PromptCost& cost() const { return cost_; }
  // `decode`: seconds that the decoding lanes alone take; 0 when there are none.
  RoundLimit limit(double decode) const {
    if (decode == 0) return {most_rows_};
    return {most_rows_, (rounds - 1) * decode, cost_};
  }

 private:
  int most_rows_;
  PromptCost cost_;
};

}  // namespace lockstep::engine
