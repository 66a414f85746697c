// How often guesses of the multi-token head stand, by the chance that the head itself gave them.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "engine/drafts/acceptance.h"

namespace lockstep::engine {

class Sureness {
 public:
  // `step`: guesses of the same chain before it. The chance holds if those stand.
  double chance(int step, float sure) const { return of_[step > 0][level(sure)].mean(); }
  void tested(int step, float sure, bool stood) { of_[step > 0][level(sure)].tested(stood); }

 private:
  static constexpr std::array<float, 6> bounds = {0.2f, 0.4f, 0.6f, 0.75f, 0.9f, 0.97f};
  static size_t level(float sure) { return std::ranges::upper_bound(bounds, sure) - bounds.begin(); }

  using Levels = std::array<Acceptance, bounds.size() + 1>;
  static Levels before(double most) {
    const auto share = [most](double of) { return Acceptance(most * of); };
    return {share(0.1), share(0.25), share(0.4), share(0.6), share(0.75), share(0.9), share(1)};
  }
  // Of the first guess, and of later ones, which are made from a hidden row that was guessed too.
  std::array<Levels, 2> of_ = {before(0.98), before(0.75)};
};

}  // namespace lockstep::engine
