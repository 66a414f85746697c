// Sizes of weights and pages in device memory, for host and kernels (what lies where: weights.h,
// kv_layout.h).
#pragma once

#include "kernels/canon/base.h"
#include "kernels/operations.h"

namespace lockstep::kernels::gpu {

constexpr int strip_outputs = 32;
constexpr int strip_tiles = 2;
constexpr int segment_inputs = 256;  // of the canon
constexpr int unit_inputs = 64;      // of a packed unit of tiles.h

LOCKSTEP_CANON constexpr int inputs_of_unit(int group) { return group == 128 ? 128 : 64; }
LOCKSTEP_CANON constexpr int tile_code_bytes(int bits) { return 128 * bits; }  // of 64 inputs, 16 outputs
LOCKSTEP_CANON constexpr int scale_bytes(bool wide) { return strip_outputs * (wide ? 8 : 4); }  // of a group
LOCKSTEP_CANON constexpr int unit_code_bytes(int bits, int group) {
  return tile_code_bytes(bits) * strip_tiles * (inputs_of_unit(group) / 64);
}
LOCKSTEP_CANON constexpr int unit_bytes(int bits, int group, bool wide) {
  return unit_code_bytes(bits, group) + inputs_of_unit(group) / group * scale_bytes(wide);
}

LOCKSTEP_CANON constexpr int units_of_head(int head_dim) {
  return (head_dim + unit_inputs - 1) / unit_inputs;
}
LOCKSTEP_CANON constexpr int64_t kv_plane_bytes(int head_dim) {
  return static_cast<int64_t>(page_positions) * units_of_head(head_dim) * unit_inputs;
}
LOCKSTEP_CANON constexpr int64_t kv_head_bytes(int head_dim) {
  return 4 * kv_plane_bytes(head_dim) + 2 * page_positions * static_cast<int64_t>(sizeof(float));
}

}  // namespace lockstep::kernels::gpu
