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

constexpr int most_shared_bytes = 227 << 10;  // of a block, on chips that have much

// Of the linear layers' blocks. The warps of a strip share its segments out: a turn gives each the next one.
constexpr int fewest_warps = 4;  // of a block; of a pair each half has half of the most
LOCKSTEP_CANON constexpr int most_warps(int columns) { return columns < 8 ? 12 : 8; }
constexpr int sums_pitch = 40;   // floats from one row's 32 outputs to the next: no bank conflicts
constexpr int stream_slots = 2;  // pieces of a warp on their way or in use
constexpr int piece_inputs = 128;
// The most that a piece of a strip may have.
LOCKSTEP_CANON constexpr int piece_bytes(int bits, int group) {
  return piece_inputs / inputs_of_unit(group) * unit_bytes(bits, group, true);
}
LOCKSTEP_CANON constexpr int streams_bytes(int bits, int group, int warps) {
  return warps * stream_slots * (piece_bytes(bits, group) + 16);
}
LOCKSTEP_CANON constexpr int sums_bytes(int columns, int warps) {
  return warps * columns * sums_pitch * static_cast<int>(sizeof(float));
}
// Of blocks for many rows. Where a chip has much shared memory, it holds what a warp added up so far, which
// leaves a lane the registers to multiply ahead, and as many warps share the inputs as there is room for.
constexpr int many_columns = 32;
constexpr int many_pitch = segment_inputs + 64;
LOCKSTEP_CANON constexpr int many_inputs_bytes(int group) {
  return 2 * many_columns * (many_pitch + segment_inputs / group * static_cast<int>(sizeof(float)));
}
constexpr int many_totals_bytes =
    strip_outputs * many_columns * static_cast<int>(sizeof(float));  // of a warp
LOCKSTEP_CANON constexpr int many_bytes(int bits, int group, int warps, bool much_shared) {
  return (much_shared ? streams_bytes(bits, group, warps) + warps * many_totals_bytes : 0) +
         2 * many_inputs_bytes(group);
}
LOCKSTEP_CANON constexpr int many_warps(int bits, int group, bool much_shared) {
  return much_shared && many_bytes(bits, group, 16, true) <= most_shared_bytes ? 16 : 8;
}

constexpr int delta_rows_at_once = 4;

constexpr int norm_threads = 1024;
constexpr int most_norm_length = 16 * norm_threads - 1;  // and one number more, in 64 KiB of shared memory

constexpr int candidate_threads = 1024;
constexpr size_t candidate_shared_bytes = 256 * 4 + 4 * 4 + 1024 * 8 + 2 * 2048 * 4;

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
