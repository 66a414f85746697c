// Weights of a checkpoint into the GPU's layout: uploaded in pieces, then placed by kernels.
#include <algorithm>

#include "kernels/gpu/gpu_device.h"
#include "kernels/gpu/layout.h"
#include "kernels/reference/codes.h"

namespace lockstep::kernels::gpu {

namespace {

constexpr size_t upload_bytes = size_t{32} << 20;  // fits the scratch with its scales and biases

size_t row_bytes(const MatrixSource& s) {
  return static_cast<size_t>(s.inputs) * static_cast<size_t>(s.bits) / 8;
}
size_t row_scale_bytes(const MatrixSource& s) {
  if (s.bits == 16) return 0;
  return static_cast<size_t>(s.inputs / s.group) * (s.scale_type == ScaleType::fp32 ? 4 : 2);
}

}  // namespace

std::unique_ptr<GpuMatrix> GpuDevice::make_matrix(const MatrixSource& s, bool pair) {
  const bool dense = s.bits == 16, wide = s.scale_type != ScaleType::bf16;
  const int strips = (s.outputs + strip_outputs - 1) / strip_outputs;
  size_t strip_bytes = static_cast<size_t>(s.inputs) * strip_outputs * 2;
  if (!dense) {
    const int unit = inputs_of_unit(s.group);
    strip_bytes = static_cast<size_t>((s.inputs + unit - 1) / unit) *
                  static_cast<size_t>(unit_bytes(s.bits, s.group, wide));
  }
  const int halves = pair ? 2 : 1;
  const size_t expert_bytes = strip_bytes * static_cast<size_t>(strips * halves);
  auto matrix = std::make_unique<GpuMatrix>(*runtime_, expert_bytes * static_cast<size_t>(s.experts));
  matrix->experts = s.experts;
  matrix->outputs = s.outputs;
  matrix->inputs = s.inputs;
  matrix->bits = s.bits;
  matrix->group = dense ? 0 : s.group;
  matrix->pair = pair;
  matrix->strips = strips;
  matrix->weights = {static_cast<const uint8_t*>(matrix->memory),
                     expert_bytes,
                     strip_bytes,
                     s.outputs,
                     s.inputs,
                     s.bits,
                     matrix->group,
                     wide && !dense,
                     halves};
  return matrix;
}

// A piece is whole strips of one expert, or whole experts.
void GpuDevice::fill(GpuMatrix& matrix, const MatrixSource& s, int half) {
  const size_t codes = row_bytes(s), scales = row_scale_bytes(s);
  const size_t expert_rows = static_cast<size_t>(s.outputs);
  const int rows_at_once = static_cast<int>(std::clamp<size_t>(
      upload_bytes / codes / strip_outputs * strip_outputs, strip_outputs, expert_rows + strip_outputs));
  const int experts_at_once =
      rows_at_once < s.outputs ? 1
                               : static_cast<int>(std::max<size_t>(1, upload_bytes / (codes * expert_rows)));
  auto* stage = static_cast<uint8_t*>(scratch_);
  for (int expert = 0; expert < s.experts; expert += experts_at_once) {
    const int experts = std::min(experts_at_once, s.experts - expert);
    for (int row = 0; row < s.outputs; row += rows_at_once) {
      const int rows = std::min(rows_at_once, s.outputs - row);
      const size_t first = static_cast<size_t>(expert) * expert_rows + static_cast<size_t>(row);
      const size_t count = static_cast<size_t>(experts) * static_cast<size_t>(rows);
      PackArgs args{};
      args.to = matrix.weights;
      args.to.data +=
          static_cast<size_t>(expert) * matrix.weights.expert_bytes +
          static_cast<size_t>(row / strip_outputs * matrix.weights.halves) * matrix.weights.strip_bytes;
      args.to.outputs = rows;
      args.half = half;
      args.experts = experts;
      args.scale_type = static_cast<int32_t>(s.scale_type);
      args.weights = stage;
      args.scales = stage + (count * codes + 63) / 64 * 64;
      args.biases = args.scales + (count * scales + 63) / 64 * 64;
      runtime_->upload(stage, static_cast<const uint8_t*>(s.weights) + first * codes, count * codes);
      const Grid grid{0, static_cast<unsigned>((rows + strip_outputs - 1) / strip_outputs),
                      static_cast<unsigned>(experts)};
      if (s.bits == 16) {
        launch("pack_dense", {static_cast<unsigned>((s.inputs + 31) / 32), grid.y, grid.z}, 256, 0, args);
        continue;
      }
      runtime_->upload(const_cast<uint8_t*>(args.scales),
                       static_cast<const uint8_t*>(s.scales) + first * scales, count * scales);
      runtime_->upload(const_cast<uint8_t*>(args.biases),
                       static_cast<const uint8_t*>(s.biases) + first * scales, count * scales);
      const int unit = inputs_of_unit(s.group);
      const int units = (s.inputs + unit - 1) / unit;
      launch("pack_codes", {static_cast<unsigned>(units * unit / 64), grid.y, grid.z}, 64, 0, args);
      launch("pack_scales", {static_cast<unsigned>(units * unit / s.group), grid.y, grid.z}, 32, 0, args);
    }
  }
}

std::unique_ptr<Matrix> GpuDevice::pack(const MatrixSource& source) {
  check_source(source);
  auto matrix = make_matrix(source, false);
  fill(*matrix, source, 0);
  wait();  // layers read their weights before what runs before them has ended
  return matrix;
}

std::unique_ptr<Matrix> GpuDevice::pack_pair(const MatrixSource& gate, const MatrixSource& up) {
  check_pair(gate, up);
  auto matrix = make_matrix(gate, true);
  if ((up.scale_type != ScaleType::bf16) != (gate.scale_type != ScaleType::bf16) && gate.bits != 16) {
    throw DeviceError("a gate and an up matrix of different scale types cannot be one pair");
  }
  fill(*matrix, gate, 0);
  fill(*matrix, up, 1);
  wait();
  return matrix;
}

}  // namespace lockstep::kernels::gpu
