// Rotary position angles (canon.md, "Full attention").
#pragma once

#include "kernels/canon/math.h"

namespace lockstep::kernels::canon {

// theta^(-2*pair/rotary_dim) rounded to fp32, for theta > 1 and 0 <= pair < rotary_dim/2. Made once at start
// on the host, in fp64: log by the series of 2*atanh(s), s = (m-1)/(m+1), exp by Taylor's series. The fp64
// error is below 1e-14 of the result, so the fp32 result is the correctly rounded one but for near ties.
LOCKSTEP_CANON float inverse_frequency(double theta, int pair, int rotary_dim) {
  constexpr double ln2 = 0.693147180559945309417;
  int exponent = 0;
  double m = theta;
  while (m >= 1.5) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  double series = 0.0;
  for (int k = 41; k >= 1; k -= 2) series = series * (s * s) + 1.0 / k;
  const double logarithm = exponent * ln2 + 2.0 * s * series;
  double y = logarithm * (2.0 * pair) / rotary_dim;
  int halvings = 0;
  while (y >= 0.5) {
    y -= ln2;
    ++halvings;
  }
  double e = 1.0;
  for (int k = 24; k >= 1; --k) e = 1.0 - e * y / k;
  for (; halvings > 0; --halvings) e *= 0.5;
  return static_cast<float>(e);
}

// The angle of a position: one fp32 product.
LOCKSTEP_CANON float rotary_angle(int32_t position, float inverse_frequency) {
  return static_cast<float>(position) * inverse_frequency;
}

// Turns the pair (a, b) = (x[i], x[i + rotary_dim/2]); nothing is fused.
LOCKSTEP_CANON void rotate(float& a, float& b, float cosine, float sine) {
  const float first = a * cosine - b * sine;
  b = b * cosine + a * sine;
  a = first;
}

}  // namespace lockstep::kernels::canon
