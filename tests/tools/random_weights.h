// The random numbers of synthetic checkpoints: integer arithmetic and exactly rounded fp32 only, so that
// every machine draws the same ones.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace lockstep::tools {

// Sebastiano Vigna's SplitMix64 (prng.di.unimi.it/splitmix64.c, public domain).
class Random {
 public:
  // One stream for each name: a tensor's numbers depend on no other tensor.
  Random(uint64_t seed, std::string_view name) : state_(seed) {
    for (unsigned char c : name) state_ = (state_ ^ c) * 0x100000001b3;  // as FNV-1a
  }

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  float uniform(float low, float high) {  // 24 random bits
    return low + (high - low) * (static_cast<float>(next() >> 40) * 0x1p-24f);
  }
  float normal(float deviation) {  // the sum of four 16-bit numbers: bell-shaped, at most 3.5 deviations
    const uint64_t z = next();
    const uint64_t sum = (z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48);
    return (static_cast<float>(sum) - 131070.0f) * (1.0f / 37837.23f) * deviation;  // 65536 * sqrt(4 / 12)
  }

 private:
  uint64_t state_;
};

// Rounded to nearest even; the value is finite and far from the type's limits.
inline uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline uint16_t to_fp16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  const float magnitude = std::bit_cast<float>(bits & 0x7fffffff);
  // Below 2^-14 the step is 2^-24: adding 1.5 * 2^-1 leaves just the bits that stay.
  if (magnitude < 0x1p-14f)
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(magnitude + 0.75f) - std::bit_cast<uint32_t>(0.75f)));
  const uint32_t rounded = (bits & 0x7fffffff) + 0xfff + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

}  // namespace lockstep::tools
