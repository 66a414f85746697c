// bf16 and fp16 as 16-bit patterns, converted exactly to fp32; a NaN keeps its payload.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep::engine {

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline float from_fp16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float subnormal = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(subnormal) | sign);
}

}  // namespace lockstep::engine
