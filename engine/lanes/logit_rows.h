// Rows of logits as choosers want them: the largest of each row, read from the device.
#pragma once

#include "engine/models/forward.h"
#include "engine/sampling/chooser.h"

namespace lockstep::engine {

class LogitRows {
 public:
  LogitRows(kernels::Device& device, Forward& forward) : device_(device), forward_(forward) {}

  // Of the last run() or draft() of the Forward, a batch of `rows` rows of logits, which it waits for. They
  // replace those of the call before.
  void read(int rows, int vocabulary, int candidates);
  bool finite(int row) const { return finite_[row] != 0; }
  // Holds until the next read().
  LogitRow row(int row) const;

 private:
  kernels::Device& device_;
  Forward& forward_;
  int vocabulary_ = 0, count_ = 0;
  const int32_t *id_ = nullptr, *finite_ = nullptr;
  const float *logit_ = nullptr, *maximum_ = nullptr, *log_sum_ = nullptr;
};

}  // namespace lockstep::engine
