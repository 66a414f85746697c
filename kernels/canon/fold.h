// Sums over a row in 32 strands (canon.md, "Sums over a row"). Strand t takes elements t, t+32, ... in order,
// starting at +0; then the strands fold by xor 16, 8, 4, 2, 1.
#pragma once

#include "kernels/canon/base.h"

namespace lockstep::kernels::canon {

constexpr int32_t strands = 32;

// Strand t becomes strand t + strand t^distance; every strand ends with the same bits, as + commutes.
LOCKSTEP_CANON float fold_strands(float* strand) {
  for (int32_t distance = strands / 2; distance > 0; distance /= 2) {
    for (int32_t t = 0; t < distance; ++t) strand[t] = strand[t] + strand[t + distance];
  }
  return strand[0];
}

LOCKSTEP_CANON float sum(const float* x, int32_t n) {
  float strand[strands] = {};
  for (int32_t i = 0; i < n; ++i) strand[i % strands] = strand[i % strands] + x[i];
  return fold_strands(strand);
}

LOCKSTEP_CANON float sum_of_squares(const float* x, int32_t n) {
  float strand[strands] = {};
  for (int32_t i = 0; i < n; ++i) strand[i % strands] = fma(x[i], x[i], strand[i % strands]);
  return fold_strands(strand);
}

}  // namespace lockstep::kernels::canon
