// Rows of numbers that linear layers read: fp32, and blocks for each group size that some matrix asks for.
#pragma once

#include <array>
#include <initializer_list>

#include "engine/memory/device_array.h"

namespace lockstep::engine {

class Rows {
 public:
  Rows() = default;
  // Room for `rows` rows of at most `length` values; `groups`: group sizes that will be asked for.
  Rows(kernels::Device&, int rows, int length, std::initializer_list<int> groups);

  // Names what the next operation writes: `rows` rows of `length` values to x().
  void begin(int rows, int length);
  float* x() const { return x_.data(); }
  // Blocks for `reader` that the writing operation fills itself; null when the reader takes fp32.
  const kernels::Blocks* fused(const kernels::Matrix& reader);
  // Blocks for `reader`, made from x() unless they are there already; empty when it takes fp32.
  kernels::Blocks blocks(const kernels::Matrix& reader);
  int rows() const { return rows_; }
  uint64_t bytes() const;

 private:
  struct Form {
    DeviceArray<int8_t> high, low;
    DeviceArray<float> multiplier, sum;
    kernels::Blocks view;
    bool ready = false;
  };
  Form& form(const kernels::Matrix& reader);

  kernels::Device* device_ = nullptr;
  DeviceArray<float> x_;
  std::array<Form, 3> forms_;  // groups of 32, 64, 128
  int rows_ = 0;
  int length_ = 0;
};

// Runs one linear operation for each group size among the outputs' matrices.
void project(kernels::Device&, Rows& from, std::initializer_list<kernels::LinearOutput> outputs);

}  // namespace lockstep::engine
