// Blocks: numbers as 15-bit integers with one exponent (canon.md, "Blocks").
#pragma once

#include "kernels/canon/base.h"

namespace lockstep::kernels::canon {

// The exponent of a block whose largest magnitude is the finite number m: 2^(e-1) <= m < 2^e, at least -100;
// -100 for m = 0. At most 128, so 2^(14-e) and 2^(e-14) are normal numbers.
LOCKSTEP_CANON int32_t block_exponent(float m) {
  const int32_t e = static_cast<int32_t>(bits_of(m) >> 23) - 126;  // a denormal m gives -126: clamped below
  return e < -100 ? -100 : e;
}

// What x is multiplied by before rounding, and what q is multiplied by to give a number again.
LOCKSTEP_CANON float block_scale(int32_t e) { return power_of_two(14 - e); }
LOCKSTEP_CANON float block_multiplier(int32_t e) { return power_of_two(e - 14); }

// q = rint(x * 2^(14-e)), |q| <= 2^14. Scaling is exact, or its result is so small that q is 0 either way.
LOCKSTEP_CANON int32_t block_q(float x, float scale) { return round_to_int(x * scale); }

// q = 256*high + low, high in [-64, 64], low in [-128, 127].
LOCKSTEP_CANON int32_t high_byte(int32_t q) { return (q + 128) >> 8; }
LOCKSTEP_CANON int32_t low_byte(int32_t q) { return q - 256 * high_byte(q); }

// The sum of products of two blocks from its byte sums: high*high, high*low + low*high, low*low. Exact
// conversions while each is below 2^24: up to 512 numbers.
LOCKSTEP_CANON float join_products(int32_t hh, int32_t mid, int32_t ll) {
  return fma(65536.0f, static_cast<float>(hh), fma(256.0f, static_cast<float>(mid), static_cast<float>(ll)));
}

// Makes the block of x[0..n): writes n bytes to each of high and low, returns the multiplier; *sum, when
// wanted, is float(sum of q) * multiplier. A void block (inf or NaN inside) has zeros and a NaN multiplier.
LOCKSTEP_CANON float make_block(const float* x, int32_t n, int8_t* high, int8_t* low, float* sum) {
  float m = 0.0f;
  bool finite = true;
  for (int32_t i = 0; i < n; ++i) {
    finite = finite && is_finite(x[i]);
    const float a = magnitude(x[i]);
    m = a > m ? a : m;
  }
  if (!finite) {
    for (int32_t i = 0; i < n; ++i) high[i] = low[i] = 0;
    if (sum) *sum = quiet_nan();
    return quiet_nan();
  }
  const int32_t e = block_exponent(m);
  const float scale = block_scale(e), multiplier = block_multiplier(e);
  int32_t total = 0;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t q = block_q(x[i], scale);
    high[i] = static_cast<int8_t>(high_byte(q));
    low[i] = static_cast<int8_t>(low_byte(q));
    total += q;
  }
  if (sum) *sum = static_cast<float>(total) * multiplier;
  return multiplier;
}

}  // namespace lockstep::kernels::canon
