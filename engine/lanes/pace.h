// How many prompt rows a round may carry beside decoding lanes, from measured round times, so that the gap
// between two tokens of a stream stays within a few normal ones.
#pragma once

#include <algorithm>

namespace lockstep::engine {

class Pace {
 public:
  explicit Pace(int most_rows) : most_rows_(most_rows) {}

  void measured(double seconds, int decoding, int prompt_rows) {
    if (prompt_rows == 0)
      blend(decode_, seconds);
    else if (prompt_rows >= least_rows)
      blend(row_, std::max(0.0, seconds - (decoding ? decode_ : 0.0)) / prompt_rows);
  }
  int prompt_rows(bool somebody_decodes) const {
    if (!somebody_decodes) return most_rows_;
    if (decode_ == 0 || row_ == 0) return std::min(most_rows_, 4 * least_rows);
    return std::clamp(static_cast<int>(extra_rounds * decode_ / row_), std::min(least_rows, most_rows_),
                      most_rows_);
  }

 private:
  static constexpr int least_rows = 8;
  static constexpr double extra_rounds = 2;  // a mixed round takes about three times a decoding one
  static void blend(double& mean, double value) { mean = mean == 0 ? value : 0.8 * mean + 0.2 * value; }

  int most_rows_;
  double decode_ = 0;  // seconds of a round without prompt rows
  double row_ = 0;     // seconds that a prompt row adds
};

}  // namespace lockstep::engine
