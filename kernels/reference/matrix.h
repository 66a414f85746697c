// Weight matrices as the reference keeps them: codes one a byte, scales and biases in fp32.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels {

// One stack of matrices; either codes with scales and biases, or dense.
struct StoredMatrix {
  int outputs = 0, inputs = 0, group = 0;
  std::vector<uint8_t> codes;         // [experts][outputs][inputs]
  std::vector<float> scales, biases;  // [experts][outputs][inputs/group]
  std::vector<float> dense;           // [experts][outputs][inputs], widened bf16
};

struct ReferenceMatrix final : Matrix {
  StoredMatrix first;   // the matrix, or the gate of a pair
  StoredMatrix second;  // the up half of a pair
};

// A row that linear layers read: q with its blocks' multipliers and sums, and the fp32 numbers.
struct InputRow {
  const int16_t* q;         // [inputs]
  const float* multiplier;  // [inputs/group]
  const float* sum;         // [inputs/group]
  const float* x;           // [inputs]
};

// One output of a linear layer.
float linear_output(const StoredMatrix&, int expert, int output, const InputRow&);

// Element [expert 0][row][i] as a number: fma(scale, code, bias), or the bf16 value.
float matrix_element(const StoredMatrix&, int row, int i);

}  // namespace lockstep::kernels
