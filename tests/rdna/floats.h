// fp32 functions that take more than one C++ operation.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace lockstep::rdna {

inline bool is_denormal(float a) {
  const uint32_t b = std::bit_cast<uint32_t>(a);
  return (b & 0x7f800000) == 0 && (b & 0x7fffff) != 0;
}
inline float flushed(float a) { return is_denormal(a) ? std::copysign(0.0f, a) : a; }

// V_RCP_F32 and V_SQRT_F32 are within 1 ULP; the root flushes denormal numbers (RDNA2 ISA 12.8, RDNA3
// ISA 16.8). Kernels must not depend on which neighbour a chip gives: where the result is not exact, every
// second argument gets the one on the other side of the true value.
inline float other_side(float nearest, bool nearest_is_above, uint32_t key) {
  if ((key * 0x9e3779b1u >> 31) == 0 || (key & 0x7fffff) == 0x7fffff) return nearest;
  const uint32_t b = std::bit_cast<uint32_t>(nearest);
  return std::bit_cast<float>(nearest_is_above ? b - 1 : b + 1);
}
inline float approximate_reciprocal(float a) {
  const float nearest = 1.0f / a;
  if (!std::isfinite(nearest) || nearest == 0 || !std::isfinite(a)) return nearest;
  const double error = static_cast<double>(nearest) * static_cast<double>(a) - 1.0;  // the product is exact
  return error == 0 ? nearest : other_side(nearest, error > 0, std::bit_cast<uint32_t>(a));
}
inline float approximate_root(float a) {
  const float x = flushed(a), nearest = std::sqrt(x);
  if (!std::isfinite(nearest) || nearest == 0) return nearest;
  const double error = static_cast<double>(nearest) * static_cast<double>(nearest) - static_cast<double>(x);
  return error == 0 ? nearest : other_side(nearest, error > 0, std::bit_cast<uint32_t>(a));
}

// V_CVT_U32_F32: toward zero, clamped, NaN is 0.
inline constexpr auto to_unsigned = [](float a) -> uint32_t {
  if (!(a > 0)) return 0;
  return a >= 4294967296.0f ? 0xffffffffu : static_cast<uint32_t>(static_cast<int64_t>(a));
};

// V_MAX_NUM_F32 of RDNA4: a number wins over a NaN, +0 over -0.
inline float max_num(float a, float b) {
  if (std::isnan(a)) return std::isnan(b) ? a + b : b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

// V_MAX_F32 before RDNA4, with the mode's IEEE bit: a signaling NaN wins and is quiet then.
inline bool is_signaling(float a) { return std::isnan(a) && !(std::bit_cast<uint32_t>(a) >> 22 & 1); }
inline float max_ieee(float a, float b) { return is_signaling(a) || is_signaling(b) ? a + b : max_num(a, b); }

// The three steps of a division (RDNA3 ISA 16.12, V_DIV_SCALE_F32, V_DIV_FMAS_F32, V_DIV_FIXUP_F32).
float div_scale(float value, float divisor, float dividend, bool& scaled);
float div_fmas(float a, float b, float c, bool scaled);
float div_fixup(float quotient, float divisor, float dividend);

// V_CMP_CLASS_F32: whether a belongs to one of the classes whose bits are set.
bool has_class(float a, uint32_t classes);

}  // namespace lockstep::rdna
