#include "kernels/contract/data.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/canon/base.h"

namespace lockstep::kernels::contract {

namespace {

// A finite scale's bits: bf16 and fp32 of about 2^-12 to 1, fp16 of 2^-10 to 1 with some denormals.
uint32_t scale_bits(Data& data, ScaleType type) {
  const uint32_t sign = data.below(2);
  switch (type) {
    case ScaleType::bf16: return (sign << 15) | ((115 + data.below(12)) << 7) | data.below(128);
    case ScaleType::fp16: {
      const uint32_t exponent = data.below(16) == 0 ? 0 : 5 + data.below(10);
      return (sign << 15) | (exponent << 10) | data.below(1024);
    }
    case ScaleType::fp32: return (sign << 31) | ((115 + data.below(12)) << 23) | data.below(1u << 23);
  }
  return 0;
}

std::vector<uint8_t> scale_array(Data& data, ScaleType type, size_t n) {
  const size_t width = type == ScaleType::fp32 ? 4 : 2;
  std::vector<uint8_t> bytes(n * width);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t bits = scale_bits(data, type);
    std::memcpy(&bytes[i * width], &bits, width);
  }
  return bytes;
}

}  // namespace

float Data::normal() {  // the sum of 12 uniform numbers: near enough, and the same with every library
  float sum = -6.0f;
  for (int i = 0; i < 12; ++i) sum += static_cast<float>(random_() >> 8) * 0x1p-24f;
  return sum;
}

std::vector<float> Data::floats(size_t n, Kind kind) {
  std::vector<float> x(n, 0.0f);
  if (kind == Kind::zeros) return x;
  for (float& v : x) {
    v = normal();
    switch (kind) {
      case Kind::outliers: v *= below(100) == 0 ? 1000.0f : 1.0f; break;
      case Kind::tiny: v *= canon::power_of_two(-static_cast<int>(90 + below(36))) * 0x1p-12f; break;
      case Kind::huge: v *= 0x1p124f; break;
      case Kind::mixed: v *= canon::power_of_two(static_cast<int>(below(21)) - 14); break;
      case Kind::ties: v = static_cast<float>(static_cast<int>(below(7)) - 3) * 0.5f; break;
      case Kind::normal:
      case Kind::zeros: break;
    }
  }
  return x;
}

void Data::plant(std::vector<float>& x, int count) {
  const uint32_t special[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u, 0x80000000u,
                              0x00000000u, 0x00000001u, 0x807fffffu, 0x7f7fffffu};
  for (int i = 0; i < count; ++i) {
    x[below(static_cast<uint32_t>(x.size()))] =
        canon::float_of(special[static_cast<size_t>(i) % std::size(special)]);
  }
}

std::vector<int32_t> Data::integers(int n, int32_t low, int32_t high) {
  std::vector<int32_t> x(static_cast<size_t>(n));
  for (int32_t& v : x) v = low + static_cast<int32_t>(below(static_cast<uint32_t>(high - low + 1)));
  return x;
}

std::vector<int32_t> Data::permutation(int n) {
  std::vector<int32_t> x(static_cast<size_t>(n));
  std::iota(x.begin(), x.end(), 0);
  for (size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[below(static_cast<uint32_t>(i))]);
  return x;
}

MatrixData::MatrixData(Data& data, int experts, int outputs, int inputs, int bits, int group, ScaleType type)
    : shape{experts, outputs, inputs, bits, bits == 16 ? 0 : group, type, nullptr, nullptr, nullptr} {
  const size_t numbers =
      static_cast<size_t>(experts) * static_cast<size_t>(outputs) * static_cast<size_t>(inputs);
  if (bits == 16) {
    weights = scale_array(data, ScaleType::bf16, numbers);
    return;
  }
  weights.resize(numbers * static_cast<size_t>(bits) / 8);
  for (uint8_t& byte : weights) byte = static_cast<uint8_t>(data.below(256));
  scales = scale_array(data, type, numbers / static_cast<size_t>(group));
  biases = scale_array(data, type, numbers / static_cast<size_t>(group));
}

MatrixSource MatrixData::source() const {
  MatrixSource s = shape;
  s.weights = weights.data();
  if (s.bits != 16) {
    s.scales = scales.data();
    s.biases = biases.data();
  }
  return s;
}

void MatrixData::fill_codes(uint8_t byte) { std::fill(weights.begin(), weights.end(), byte); }

void MatrixData::set_scale(size_t i, uint32_t fp32_bits) { std::memcpy(&scales[i * 4], &fp32_bits, 4); }

}  // namespace lockstep::kernels::contract
