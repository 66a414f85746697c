#include "engine/models/coarse.h"

#include <stdexcept>

#include "engine/files/half.h"

namespace lockstep::engine {
namespace {

using kernels::ScaleType;

constexpr int step = 17;  // 8-bit codes from one 4-bit code to the next: both reach from end to end

std::vector<float> to_floats(const void* values, ScaleType type, size_t count) {
  std::vector<float> floats(count);
  for (size_t i = 0; i < count; ++i) {
    if (type == ScaleType::fp32)
      floats[i] = static_cast<const float*>(values)[i];
    else if (type == ScaleType::fp16)
      floats[i] = from_fp16(static_cast<const uint16_t*>(values)[i]);
    else
      floats[i] = from_bf16(static_cast<const uint16_t*>(values)[i]);
  }
  return floats;
}

}  // namespace

CoarseMatrix coarse(const kernels::MatrixSource& fine) {
  if (fine.bits != 8) throw std::logic_error("coarse() is for matrices of 8-bit codes");
  const size_t count = size_t(fine.experts) * fine.outputs * fine.inputs, groups = count / fine.group;
  const auto* from = static_cast<const uint8_t*>(fine.weights);
  const auto nearest = [&](size_t i) { return (from[i] + step / 2) / step; };
  CoarseMatrix result;
  result.codes.resize(count / 2);
  for (size_t i = 0; i < count / 2; ++i)
    result.codes[i] = static_cast<uint8_t>(nearest(2 * i) | nearest(2 * i + 1) << 4);
  result.scales = to_floats(fine.scales, fine.scale_type, groups);
  for (float& scale : result.scales) scale *= step;
  result.biases = to_floats(fine.biases, fine.scale_type, groups);
  result.source = fine;
  result.source.bits = 4;
  result.source.scale_type = ScaleType::fp32;
  result.source.weights = result.codes.data();
  result.source.scales = result.scales.data();
  result.source.biases = result.biases.data();
  return result;
}

}  // namespace lockstep::engine
