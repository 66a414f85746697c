// Numbers and matrices for the contract's cases, from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels::contract {

enum class Kind {
  normal,    // about N(0, 1)
  outliers,  // one in 100 is 1,000 times larger
  tiny,      // down to denormals
  huge,      // up to the largest fp32
  mixed,     // magnitudes over 20 powers of two
  ties,      // few distinct values
  zeros
};

class Data {
 public:
  explicit Data(uint32_t seed) : random_(seed) {}

  std::vector<float> floats(size_t n, Kind kind = Kind::normal);
  std::vector<float> floats(int rows, int length, Kind kind = Kind::normal) {
    return floats(static_cast<size_t>(rows) * static_cast<size_t>(length), kind);
  }
  // Puts inf, NaN, zeros of both signs, denormals and the largest number at `count` places.
  void plant(std::vector<float>& x, int count);
  std::vector<int32_t> integers(int n, int32_t low, int32_t high);  // low..high
  std::vector<int32_t> permutation(int n);
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

 private:
  float normal();
  std::mt19937 random_;
};

// A checkpoint's matrix with random codes and finite scales of its type.
struct MatrixData {
  MatrixData(Data& data, int experts, int outputs, int inputs, int bits, int group, ScaleType type);
  MatrixSource source() const;
  void fill_codes(uint8_t byte);                 // all codes from one repeated byte
  void set_scale(size_t i, uint32_t fp32_bits);  // only where scales are fp32

  MatrixSource shape;
  std::vector<uint8_t> weights, scales, biases;
};

}  // namespace lockstep::kernels::contract
