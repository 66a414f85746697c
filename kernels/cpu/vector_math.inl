// The canon's functions (canon/math.h), row sums (canon/fold.h) and blocks (canon/blocks.h) on sixteen lanes,
// bit for bit. Included after vector_avx2.h or vector_avx512.h.
#pragma once

#include "kernels/canon/blocks.h"
#include "kernels/canon/math.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

inline Floats exp(Floats x) {
  x = smaller(broadcast(89.0f), x);  // the second operand comes back when one is NaN
  x = larger(broadcast(-104.0f), x);
  const Floats magic = broadcast(canon::round_magic);
  const Floats n = fma(x, broadcast(1.44269502f), magic) - magic;
  Floats r = fma(n, broadcast(-0x1.62e4p-1f), x);
  r = fma(n, broadcast(-0x1.7f7d1cp-20f), r);
  Floats q = broadcast(0.00139258674f);
  q = fma(q, r, broadcast(0.00836332422f));
  q = fma(q, r, broadcast(0.0416665599f));
  q = fma(q, r, broadcast(0.166665763f));
  q = fma(q, r, broadcast(0.5f));
  return scale_by_power(fma(q, r * r, r) + broadcast(1.0f), n);
}

inline Floats sigmoid(Floats x) {
  const Floats one = broadcast(1.0f);
  return one / (one + exp(-x));
}
inline Floats silu(Floats x) { return x * sigmoid(x); }

inline Floats log_from_parts(Ints k, Floats f, Floats c) {
  const Floats n = to_floats(k);
  const Floats s = f / (broadcast(2.0f) + f);
  const Floats z = s * s;
  Floats r = broadcast(0.233327612f);
  r = fma(r, z, broadcast(0.285507351f));
  r = fma(r, z, broadcast(0.400001228f));
  r = fma(r, z, broadcast(0.666666687f));
  r = r * z;
  const Floats h = broadcast(0.5f) * f * f;
  const Floats tail = fma(s, h + r, fma(n, broadcast(0x1.7f7d1cp-20f), c));
  return n * broadcast(0x1.62e4p-1f) - ((h - tail) - f);
}

// log(1 + x) of x >= 0 or NaN, as exp gives.
inline Floats log1p_of_positive(Floats x) {
  const Floats one = broadcast(1.0f);
  const Floats u = one + x;
  Ints bits = bits_of(u);
  const Ints k = shift_right<23>(bits - broadcast(int32_t{0x3f3504f3}));
  bits = bits - shift_left<23>(k);
  const Floats lost = select(x < one, x - (u - one), one - (u - x));
  const Mask whole = k == broadcast(int32_t{0});
  const Floats f = select(whole, x, floats_of(bits) - one);
  const Floats c = select(whole, broadcast(0.0f), lost / u);
  const Floats y = log_from_parts(k, f, c);
  const Mask itself = is_nan(x) | (x == broadcast(canon::infinity())) | (x < broadcast(0x1p-24f));
  return select(itself, x, y);
}

inline Floats softplus(Floats x) { return select(x > broadcast(20.0f), x, log1p_of_positive(exp(x))); }

// sin and cos of sixteen angles. The reduction works in 64-bit integers and is left scalar.
inline void sin_cos(const float* angle, float* sin, float* cos, int n) {
  float high[lanes] = {}, low[lanes] = {};
  int32_t quadrant[lanes] = {};
  for (int i = 0; i < n; ++i) {
    if (!canon::is_finite(angle[i])) {
      high[i] = low[i] = canon::quiet_nan();
      continue;
    }
    const canon::ReducedAngle r = canon::reduce_angle(angle[i]);
    high[i] = r.high;
    low[i] = r.low;
    quadrant[i] = static_cast<int32_t>(r.quadrant);
  }
  const Floats h = load(high), l = load(low), z = h * h;
  Floats s = broadcast(2.72496209e-06f);
  s = fma(s, z, broadcast(-0.000198400841f));
  s = fma(s, z, broadcast(0.00833333191f));
  s = fma(s, z, broadcast(-0.166666672f));
  s = h + fma(s * z, h, fma(l, broadcast(-0.5f) * z, l));
  Floats c = broadcast(-2.73007032e-07f);
  c = fma(c, z, broadcast(2.48005981e-05f));
  c = fma(c, z, broadcast(-0.00138888881f));
  c = fma(c, z, broadcast(0.0416666679f));
  const Floats half = broadcast(0.5f) * z, w = broadcast(1.0f) - half;
  const Floats lost = (broadcast(1.0f) - w) - half;
  c = w + fma(c, z * z, fma(-l, h, lost));
  const Ints q = load(quadrant), one = broadcast(int32_t{1}), two = broadcast(int32_t{2});
  const Mask odd = (q & one) == one;
  const Floats y = select(odd, c, s), x = select(odd, s, c);
  store(sin, select((q & two) == two, -y, y), n);
  store(cos, select(((q + one) & two) == two, -x, x), n);
}

// Folds 32 strands held as two vectors.
inline float fold(Floats strands_0_to_15, Floats strands_16_to_31) {
  return fold(strands_0_to_15 + strands_16_to_31);
}

// Lanes of x from index i on that lie within n; the others are 0.
inline Floats load_within(const float* x, int i, int n) {
  if (n - i >= lanes) return load(x + i);
  return n > i ? load(x + i, n - i) : broadcast(0.0f);
}

// Stores the lanes of y that are x from index i on and within n.
inline void store_within(float* x, int i, int n, Floats y) {
  if (n - i >= lanes) {
    store(x + i, y);
  } else if (n > i) {
    store(x + i, y, n - i);
  }
}

// canon::sum_of_squares. A lane past the end adds +0 * +0, which changes no strand: they are never -0.
inline float sum_of_squares(const float* x, int n) {
  Floats a = broadcast(0.0f), b = a;
  for (int i = 0; i < n; i += 2 * lanes) {
    const Floats u = load_within(x, i, n), v = load_within(x, i + lanes, n);
    a = fma(u, u, a);
    b = fma(v, v, b);
  }
  return fold(a, b);
}

// canon::make_block of n numbers, n a multiple of 16.
inline float make_block(const float* x, int n, int8_t* high, int8_t* low, float* sum) {
  // The magnitude bits of inf and NaN are the largest, so one integer maximum finds both.
  Ints most = broadcast(int32_t{0});
  for (int i = 0; i < n; i += lanes) {
    most = larger(most, bits_of(magnitude(load(x + i))));
  }
  const float m = largest(floats_of(most));
  const Mask void_lanes = most > broadcast(int32_t{0x7f7fffff});
  if (any(void_lanes)) {
    for (int i = 0; i < n; i += lanes) {
      store_bytes(high + i, broadcast(int32_t{0}));
      store_bytes(low + i, broadcast(int32_t{0}));
    }
    if (sum) *sum = canon::quiet_nan();
    return canon::quiet_nan();
  }
  const int32_t e = canon::block_exponent(m);
  const Floats scale = broadcast(canon::block_scale(e));
  Ints all = broadcast(int32_t{0});
  for (int i = 0; i < n; i += lanes) {
    const Ints q = to_ints(load(x + i) * scale);
    store_bytes(high + i, shift_right<8>(q + broadcast(int32_t{128})));
    store_bytes(low + i, q);
    all = all + q;
  }
  const float multiplier = canon::block_multiplier(e);
  if (sum) *sum = static_cast<float>(total(all)) * multiplier;
  return multiplier;
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
