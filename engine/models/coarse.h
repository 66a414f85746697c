// A matrix of 8-bit codes as one of 4-bit codes: half the memory to read, for what only guesses.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::engine {

struct CoarseMatrix {
  kernels::MatrixSource source;  // points into the vectors below
  std::vector<uint8_t> codes;
  std::vector<float> scales, biases;
};

// `fine`: in host memory, of 8 bits. Each code becomes the nearest of the 16 that its group's range has, so a
// weight differs by half of 17 codes at most.
CoarseMatrix coarse(const kernels::MatrixSource& fine);

}  // namespace lockstep::engine
