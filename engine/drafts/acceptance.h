// How often a lane's guesses stand, as a running mean over about the last 20.
#pragma once

namespace lockstep::engine {

class Acceptance {
 public:
  explicit Acceptance(double before) : mean_(before) {}
  void tested(bool stood) { mean_ += 0.05 * ((stood ? 1.0 : 0.0) - mean_); }
  double mean() const { return mean_; }

 private:
  double mean_;
};

// Chances of guesses to stand when those before them did.
struct Chance {
  double first = 0;  // 0: there is nothing to guess
  double next = 0;   // of each one after the first
};

}  // namespace lockstep::engine
