// The canon's functions of one fp32 number: +, -, *, /, fma and integer operations only, so that every
// device gives the same bits. "ulp" is the distance to the correctly rounded result, counted in fp32
// numbers; the bounds are tested over the whole range (tests/kernels/canon/math_test.cpp).
//
// NaN in gives NaN out everywhere. Coefficients: polynomials through the Chebyshev nodes of the reduced
// range, in 300-bit arithmetic, rounded to fp32.
#pragma once

#include "kernels/canon/base.h"

namespace lockstep::kernels::canon {

// e^x. At most 1 ulp. Overflows to +inf, results below the smallest normal number are right, e^-inf = +0.
//
// x = n*ln2 + r with |r| <= ln2/2; e^r = 1 + (r + r^2 * q(r)); 2^n is applied as two exact-or-last factors,
// so that the result is rounded once even when it is denormal. A lane-wise copy needs two compares, 7 fma,
// 5 multiplications and additions, and the scaling (AVX-512: scalef(p, n) is the same as the two factors).
LOCKSTEP_CANON float exp(float x) {
  x = x > 89.0f ? 89.0f : x;  // written so that a NaN stays
  x = x < -104.0f ? -104.0f : x;
  const float shifted = fma(x, 1.44269502f, round_magic);
  const float n = shifted - round_magic;
  float r = fma(n, -0x1.62e4p-1f, x);  // 15 leading bits of ln2: exact
  r = fma(n, -0x1.7f7d1cp-20f, r);     // the rest of ln2
  float q = 0.00139258674f;
  q = fma(q, r, 0.00836332422f);
  q = fma(q, r, 0.0416665599f);
  q = fma(q, r, 0.166665763f);
  q = fma(q, r, 0.5f);
  const float p = fma(q, r * r, r) + 1.0f;
  const int32_t k = static_cast<int32_t>(bits_of(shifted) - round_magic_bits);
  const int32_t half = k >> 1;  // arithmetic shift: rounds down
  // Masked only so that a NaN's meaningless k stays a valid shift.
  const float first = float_of((static_cast<uint32_t>(half + 127) & 0xffu) << 23);
  const float second = float_of((static_cast<uint32_t>(k - half + 127) & 0xffu) << 23);
  return (p * first) * second;
}

// log(2^k * (1 + f)) + c for 1 + f in [sqrt(1/2), sqrt(2)) and a small correction c; s = f/(2+f), and
// log(1+f) = f - (f^2/2 - s*(f^2/2 + R(s^2))).
LOCKSTEP_CANON float log_from_parts(int32_t k, float f, float c) {
  const float n = static_cast<float>(k);
  const float s = f / (2.0f + f);
  const float z = s * s;
  float r = 0.233327612f;
  r = fma(r, z, 0.285507351f);
  r = fma(r, z, 0.400001228f);
  r = fma(r, z, 0.666666687f);
  r = r * z;
  const float h = 0.5f * f * f;
  const float tail = fma(s, h + r, fma(n, 0x1.7f7d1cp-20f, c));
  return n * 0x1.62e4p-1f - ((h - tail) - f);
}

// k and the bits of m with x = 2^k * m, m in [sqrt(1/2), sqrt(2)); x normal and positive.
LOCKSTEP_CANON int32_t split_exponent(uint32_t& bits) {
  const int32_t k = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  bits -= static_cast<uint32_t>(k) << 23;
  return k;
}

// Natural logarithm. At most 1 ulp. log(0) = -inf (either zero), log(inf) = inf, NaN below 0.
LOCKSTEP_CANON float log(float x) {
  uint32_t bits = bits_of(x);
  int32_t k = 0;
  if (bits - 0x00800000u >= 0x7f000000u) {  // not a positive normal number
    if ((bits << 1) == 0) return -infinity();
    if (bits == 0x7f800000u || is_nan(x)) return x;
    if (bits >> 31) return quiet_nan();
    bits = bits_of(x * 33554432.0f);  // denormal: times 2^25
    k = -25;
  }
  k += split_exponent(bits);
  return log_from_parts(k, float_of(bits) - 1.0f, 0.0f);
}

// log(1 + x). At most 1 ulp. log1p(-1) = -inf, log1p(inf) = inf, NaN below -1, and x itself for |x| < 2^-24.
LOCKSTEP_CANON float log1p(float x) {
  if (is_nan(x) || x == infinity() || magnitude(x) < 0x1p-24f) return x;
  if (x <= -1.0f) return x == -1.0f ? -infinity() : quiet_nan();
  const float u = 1.0f + x;
  uint32_t bits = bits_of(u);
  const int32_t k = split_exponent(bits);
  if (k == 0) return log_from_parts(0, x, 0.0f);
  const float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);  // (1 + x) - u
  return log_from_parts(k, float_of(bits) - 1.0f, lost / u);
}

// An angle as quadrant + remainder: x = quadrant*(pi/2) + (high + low), |high| <= pi/4 (just above it by
// rounding), quadrant mod 4. x finite.
struct ReducedAngle {
  uint32_t quadrant;
  float high, low;
};

// 32 bits of 2/pi that begin at bit 32*word + shift; bit 32 is the first after the binary point.
LOCKSTEP_CANON uint32_t two_over_pi_bits(uint32_t word, uint32_t shift) {
  constexpr uint32_t table[9] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  const uint64_t two = (static_cast<uint64_t>(table[word]) << 32) | table[word + 1];
  return static_cast<uint32_t>(two >> (32 - shift));
}

// Exact for every finite angle: |x| = m * 2^(exponent-150) with a 24-bit m; m times the 96 bits of 2/pi that
// matter gives the quadrant (2 bits) and the fraction of a quadrant, to 2^-62.
LOCKSTEP_CANON ReducedAngle reduce_angle(float x) {
  const uint32_t bits = bits_of(x) & 0x7fffffffu;
  if (bits < 0x3f490fdbu) return {0, x, 0.0f};  // |x| < pi/4
  const uint32_t start = (bits >> 23) - 120;    // first bit kept: of weight 2 or less once multiplied
  const uint32_t word = start >> 5, shift = start & 31;
  const uint64_t m = (bits & 0x007fffffu) | 0x00800000u;
  const uint64_t p2 = m * two_over_pi_bits(word + 2, shift);
  const uint64_t p1 = m * two_over_pi_bits(word + 1, shift) + (p2 >> 32);
  const uint64_t p0 = m * two_over_pi_bits(word, shift) + (p1 >> 32);
  const uint64_t turns = (p0 << 32) | (p1 & 0xffffffffu);  // 2^64 = 4 quadrants
  const uint64_t nearest = (turns + (uint64_t{1} << 61)) >> 62;
  int64_t rest = static_cast<int64_t>(turns - (nearest << 62));  // 2^62 = 1 quadrant
  uint32_t quadrant = static_cast<uint32_t>(nearest) & 3u;
  if (bits_of(x) >> 31) {
    rest = -rest;
    quadrant = (4 - quadrant) & 3u;
  }
  const float top = static_cast<float>(rest);
  const float bottom = static_cast<float>(rest - static_cast<int64_t>(top));
  const float a = top * 0x1p-62f, b = bottom * 0x1p-62f;  // quadrants, exact
  const float high = a * 1.57079637f;
  const float low = fma(a, 1.57079637f, -high) + fma(a, -4.37113883e-08f, b * 1.57079637f);
  return {quadrant, high, low};
}

// sin and cos of high + low, |high| up to a little over pi/4.
LOCKSTEP_CANON float sin_reduced(float high, float low) {
  const float z = high * high;
  float s = 2.72496209e-06f;
  s = fma(s, z, -0.000198400841f);
  s = fma(s, z, 0.00833333191f);
  s = fma(s, z, -0.166666672f);
  return high + fma(s * z, high, fma(low, -0.5f * z, low));
}
LOCKSTEP_CANON float cos_reduced(float high, float low) {
  const float z = high * high;
  float c = -2.73007032e-07f;
  c = fma(c, z, 2.48005981e-05f);
  c = fma(c, z, -0.00138888881f);
  c = fma(c, z, 0.0416666679f);
  const float h = 0.5f * z;
  const float w = 1.0f - h;
  const float lost = (1.0f - w) - h;  // of 1 - h
  return w + fma(c, z * z, fma(-low, high, lost));
}

// sin(x) and cos(x) of any finite angle in radians. At most 1 ulp. NaN for inf.
LOCKSTEP_CANON float sin(float x) {
  if (!is_finite(x)) return quiet_nan();
  const ReducedAngle r = reduce_angle(x);
  const float y = (r.quadrant & 1) ? cos_reduced(r.high, r.low) : sin_reduced(r.high, r.low);
  return (r.quadrant & 2) ? -y : y;
}
LOCKSTEP_CANON float cos(float x) {
  if (!is_finite(x)) return quiet_nan();
  const ReducedAngle r = reduce_angle(x);
  const float y = (r.quadrant & 1) ? sin_reduced(r.high, r.low) : cos_reduced(r.high, r.low);
  return ((r.quadrant + 1) & 2) ? -y : y;
}

// 1/(1 + e^-x). At most 2 ulp down to x = -87.3; below that the result is denormal or 0, off by at most
// 2^-127.
LOCKSTEP_CANON float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

// x * sigmoid(x). At most 3 ulp down to x = -87.3. silu(-inf) is NaN, as -inf * 0 is.
LOCKSTEP_CANON float silu(float x) { return x * sigmoid(x); }

// log(1 + e^x); x itself above 20. At most 2 ulp.
LOCKSTEP_CANON float softplus(float x) { return x > 20.0f ? x : log1p(exp(x)); }

// 1/sqrt(x) as two correctly rounded operations.
LOCKSTEP_CANON float inverse_root(float x) { return 1.0f / square_root(x); }

}  // namespace lockstep::kernels::canon
