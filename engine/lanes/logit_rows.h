// Rows of logits as choosers want them: the largest of each row, read from the device.
#pragma once

#include <vector>

#include "engine/memory/device_array.h"
#include "engine/sampling/chooser.h"

namespace lockstep::engine {

class LogitRows {
 public:
  LogitRows(kernels::Device&, int most_rows);

  // `logits`: [rows][vocabulary] in device memory; `count`: how many of the largest. They replace those of
  // the call before.
  void read(const float* logits, int rows, int vocabulary, int count);
  bool finite(int row) const { return finite_host_[row] != 0; }
  // Holds until the next read().
  LogitRow row(int row) const;

 private:
  kernels::Device& device_;
  const float* logits_ = nullptr;
  int vocabulary_ = 0, count_ = 0;
  DeviceArray<int32_t> id_, finite_;
  DeviceArray<float> logit_, maximum_, log_sum_;
  std::vector<int32_t> id_host_, finite_host_;
  std::vector<float> logit_host_, maximum_host_, log_sum_host_;
};

}  // namespace lockstep::engine
