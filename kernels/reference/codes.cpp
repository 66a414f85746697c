#include "kernels/reference/codes.h"

#include <cstring>

#include "kernels/canon/base.h"

namespace lockstep::kernels {

void check_source(const MatrixSource& s) {
  const std::string name =
      "a matrix of " + std::to_string(s.outputs) + " outputs and " + std::to_string(s.inputs) + " inputs";
  if (s.experts < 1 || s.outputs < 1 || s.inputs < 1) throw DeviceError(name + " is empty");
  if (s.bits == 16) return;
  if (s.bits < 2 || s.bits > 8 || s.bits == 7) {
    throw DeviceError(name + " has codes of " + std::to_string(s.bits) +
                      " bits; 2, 3, 4, 5, 6 and 8 are known");
  }
  if (s.group != 32 && s.group != 64 && s.group != 128) {
    throw DeviceError(name + " has groups of " + std::to_string(s.group) + "; 32, 64 and 128 are known");
  }
  if (s.inputs % s.group != 0) {
    throw DeviceError(name + " does not divide into groups of " + std::to_string(s.group) + " inputs");
  }
}

void check_pair(const MatrixSource& gate, const MatrixSource& up) {
  check_source(gate);
  check_source(up);
  if (gate.experts != up.experts || gate.outputs != up.outputs || gate.inputs != up.inputs ||
      gate.bits != up.bits || (gate.bits != 16 && gate.group != up.group)) {
    throw DeviceError("a gate and an up matrix of different shape, width or group cannot be one pair");
  }
}

void unpack_codes(const uint8_t* stream, int bits, int n, uint8_t* codes) {
  const uint32_t mask = (1u << bits) - 1;
  uint32_t pending = 0;
  int have = 0;
  for (int i = 0; i < n; ++i) {
    if (have < bits) {
      pending |= static_cast<uint32_t>(*stream++) << have;
      have += 8;
    }
    codes[i] = static_cast<uint8_t>(pending & mask);
    pending >>= bits;
    have -= bits;
  }
}

float bf16_to_float(uint16_t bits) { return canon::float_of(static_cast<uint32_t>(bits) << 16); }

float fp16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 0x3ffu;
  if (exponent == 0) {  // zero or denormal: fraction * 2^-24, exact in fp32
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return canon::float_of(canon::bits_of(value) | sign);
  }
  const uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return canon::float_of(sign | (wide << 23) | (fraction << 13));
}

float read_scale(const void* array, ScaleType type, size_t i) {
  const auto* bytes = static_cast<const uint8_t*>(array);
  if (type == ScaleType::fp32) {
    float value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, bytes + i * sizeof half, sizeof half);
  return type == ScaleType::bf16 ? bf16_to_float(half) : fp16_to_float(half);
}

}  // namespace lockstep::kernels
