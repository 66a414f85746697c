#include "tests/rdna/floats.h"

#include <limits>

namespace lockstep::rdna {

namespace {

int exponent(float a) { return static_cast<int>(std::bit_cast<uint32_t>(a) >> 23 & 0xff); }

// Of a quotient that is computed in more bits than fp32 has.
bool small(double a) { return a != 0 && std::fabs(a) < 0x1p-126; }

}  // namespace

float div_scale(float value, float divisor, float dividend, bool& scaled) {
  scaled = false;
  const bool same_divisor = std::bit_cast<uint32_t>(value) == std::bit_cast<uint32_t>(divisor);
  const bool same_dividend = std::bit_cast<uint32_t>(value) == std::bit_cast<uint32_t>(dividend);
  if (dividend == 0 || divisor == 0) return std::numeric_limits<float>::quiet_NaN();
  if (exponent(dividend) - exponent(divisor) >= 96) {  // near the largest number
    scaled = true;
    return same_divisor ? std::ldexp(value, 64) : value;
  }
  if (is_denormal(divisor)) return std::ldexp(value, 64);
  const bool small_inverse = small(1 / static_cast<double>(divisor));
  const bool small_quotient = small(static_cast<double>(dividend) / static_cast<double>(divisor));
  if (small_inverse && small_quotient) {
    // The documents scale the divisor up here, which would overflow; down gives the division they promise.
    scaled = true;
    return same_divisor ? std::ldexp(value, -64) : value;
  }
  if (small_inverse) return std::ldexp(value, -64);
  if (small_quotient) {
    scaled = true;
    return same_dividend ? std::ldexp(value, 64) : value;
  }
  if (exponent(dividend) <= 23) return std::ldexp(value, 64);  // a tiny dividend
  return value;
}

float div_fmas(float a, float b, float c, bool scaled) {
  if (!scaled) return __builtin_fmaf(a, b, c);
  // One rounding, after the scaling: the sum is taken in fp64, its last bit odd where it is not exact.
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = c;
  double sum = product + addend;
  const double part = sum - product, rest = (product - (sum - part)) + (addend - part);
  if (std::isfinite(sum) && rest != 0 && std::bit_cast<uint64_t>(sum) % 2 == 0)
    sum = std::nextafter(sum, rest > 0 ? HUGE_VAL : -HUGE_VAL);
  return static_cast<float>(std::ldexp(sum, exponent(c) > 127 ? 64 : -64));
}

float div_fixup(float quotient, float divisor, float dividend) {
  const bool negative = std::signbit(divisor) != std::signbit(dividend);
  const float infinity = std::numeric_limits<float>::infinity();
  const auto with_sign = [negative](float a) { return negative ? -a : a; };
  if (std::isnan(dividend)) return dividend + dividend;
  if (std::isnan(divisor)) return divisor + divisor;
  if ((divisor == 0 && dividend == 0) || (std::isinf(divisor) && std::isinf(dividend)))
    return std::bit_cast<float>(0xffc00000u);
  if (divisor == 0 || std::isinf(dividend)) return with_sign(infinity);
  if (std::isinf(divisor) || dividend == 0) return with_sign(0.0f);
  if (exponent(dividend) - exponent(divisor) < -150) return with_sign(0.0f);
  if (std::isnan(quotient)) return with_sign(infinity);  // its steps ran over
  return with_sign(std::fabs(quotient));
}

bool has_class(float a, uint32_t classes) {
  const uint32_t b = std::bit_cast<uint32_t>(a);
  const bool negative = b >> 31;
  int kind;
  if (std::isnan(a)) {
    return classes >> (b >> 22 & 1) & 1;  // 0 signaling, 1 quiet
  } else if (std::isinf(a)) {
    kind = 2;
  } else if (a == 0) {
    kind = 5;
  } else {
    kind = is_denormal(a) ? 4 : 3;
  }
  return classes >> (negative ? kind : 11 - kind) & 1;
}

}  // namespace lockstep::rdna
