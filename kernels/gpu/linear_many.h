// Linear layers of codes for many rows: each warp has a strip of its own, all of a block the same input rows,
// a segment at a time in shared memory.
#pragma once

#include "kernels/gpu/linear_codes.h"

namespace lockstep::kernels::gpu {

template <int bits, int group>
constexpr int many_threads = many_warps(bits, group, streams_in_shared) * warp_lanes;

// One segment of the block's input rows.
template <int group>
struct ManyInputs {
  static constexpr int groups = segment_inputs / group;
  static constexpr int pitch = many_pitch;  // no bank conflicts among the columns of a tile
  static DEVICE_METHOD int place(int row, int plane) {
    return joined_planes ? 2 * row + plane : plane * many_columns + row;
  }
  int8_t plane[2 * many_columns][pitch];
  float multiplier[groups][many_columns], sum[groups][many_columns];
};
static_assert(sizeof(ManyInputs<32>) == many_inputs_bytes(32) &&
              sizeof(ManyInputs<128>) == many_inputs_bytes(128));

// How a warp reads them.
template <int group>
struct ManyColumns {
  const ManyInputs<group>& in;

  DEVICE_METHOD const int8_t* bytes(int p, int n, int k) const {
    const int lane = lane_index();
    return in.plane[in.place(n * tile_inputs + input_of_lane(lane), plane_of_lane(lane, p))] + k;
  }
  DEVICE_METHOD TileB one(int p, int n, int k) const { return tile_b_plain(bytes(p, n, k), lane_index()); }
  DEVICE_METHOD void two(int p, int n, int k, TileB* to) const {
    tile_b_two(bytes(p, n, k), lane_index(), to);
  }
  DEVICE_METHOD float multiplier_of(int n, int g) const {
    return in.multiplier[g][n * tile_inputs + result_input(lane_index())];
  }
  DEVICE_METHOD float sum_of(int n, int g) const {
    return in.sum[g][n * tile_inputs + result_input(lane_index())];
  }
};

// Brings a segment, by all threads of the block.
template <int threads, int group>
DEVICE_FUNCTION void load_inputs(const LinearArgs& a, const BlockRows<true>& rows, int segment,
                                 ManyInputs<group>& to) {
  constexpr int quads = many_columns * (segment_inputs / 16) / threads;
  UNROLL for (int i = 0; i < quads; ++i) {
    const int place = thread_index() + i * threads, column = place / 16, k = place % 16 * 16;
    if (segment * segment_inputs + k >= a.in.length) continue;
    const uint32_t at = rows.input_row(column) * static_cast<uint32_t>(a.in.length) +
                        static_cast<uint32_t>(segment * segment_inputs + k);
    *reinterpret_cast<Quad*>(to.plane[to.place(column, 0)] + k) =
        *reinterpret_cast<const Quad*>(a.in.high + at);
    *reinterpret_cast<Quad*>(to.plane[to.place(column, 1)] + k) =
        *reinterpret_cast<const Quad*>(a.in.low + at);
  }
  const int column = thread_index() % many_columns, g = thread_index() / many_columns;
  const int groups = a.in.length / group, index = segment * ManyInputs<group>::groups + g;
  if (g < ManyInputs<group>::groups && index < groups) {
    const uint32_t at = rows.input_row(column) * static_cast<uint32_t>(groups) + static_cast<uint32_t>(index);
    to.multiplier[g][column] = a.in.multiplier[at];
    to.sum[g][column] = a.in.sum[at];
  }
}

// Grid: x blocks of rows or groups of them, y blocks of strips of all parts. Shared: a Stream and the totals
// of each warp, then two ManyInputs; of a pair the upper warps have the strips of up, and leave their sums
// there at the end.
template <int bits, int group, bool pair>
DEVICE_FUNCTION void linear_many(const LinearArgs& a) {
  constexpr int tiles = many_columns / tile_inputs, halves = pair ? 2 : 1;
  constexpr int threads = many_threads<bits, group>, warps = threads / warp_lanes;
  constexpr int block_strips = warps / halves;
  constexpr int units = piece_inputs / inputs_of_unit(group);
  using Weights = WeightStream<bits, group>;
  let_next_start();
  wait_for_inputs();
  const int lane = lane_index(), half = warp_index() / block_strips;
  int strip = block_y() * block_strips + warp_index() % block_strips;
  const bool real = strip < a.strips;
  if (!real) strip = a.strips - 1;
  int p = 0;
  while (p + 1 < a.parts && strip >= a.part[p + 1].first_strip) ++p;
  const LinearPart& part = a.part[p];
  const PackedWeights& w = part.weights;
  strip -= part.first_strip;
  const BlockRows<true> rows(a, block_x(), many_columns);
  if (rows.count == 0) return;  // of a group
  const uint8_t* data = w.data + static_cast<uint64_t>(rows.expert) * w.expert_bytes +
                        static_cast<uint64_t>(strip * halves + half) * w.strip_bytes;
  const int bytes = unit_bytes(bits, group, w.wide);
  Weights weights(shared_memory() + warp_index() * Weights::shared_bytes, data, data + w.strip_bytes,
                  static_cast<int64_t>(segment_inputs / piece_inputs) * units * bytes, units * bytes);
  constexpr int streams = streams_in_shared ? warps * Weights::shared_bytes : 0;
  constexpr int totals = streams_in_shared ? warps * many_totals_bytes : 0;
  auto* total = reinterpret_cast<float*>(shared_memory() + streams + warp_index() * many_totals_bytes) + lane;
  auto* inputs = reinterpret_cast<ManyInputs<group>*>(shared_memory() + streams + totals);
  const int segments = (w.inputs + segment_inputs - 1) / segment_inputs;
  StripSums<bits, group, tiles> y;
  load_inputs<threads>(a, rows, 0, inputs[0]);
  block_barrier();
  NO_UNROLL for (int segment = 0; segment < segments; ++segment) {
    if (segment + 1 < segments) load_inputs<threads>(a, rows, segment + 1, inputs[(segment + 1) % 2]);
    StripSums<bits, group, tiles> sums;
    sums.clear();
    const ManyColumns<group> columns = {inputs[segment % 2]};
    const int inputs_left = w.inputs - segment * segment_inputs;
    const int units_left = (inputs_left + inputs_of_unit(group) - 1) / inputs_of_unit(group);
    each_piece<group>(
        weights, units_left, [](int) {},
        [&](int unit, const uint8_t* codes) {
          NO_UNROLL for (int u = 0; u < units && unit + u < units_left; ++u) {
            sums.add(columns, codes + u * bytes, w.wide, unit + u, inputs_left / group);
          }
        });
    UNROLL for (int i = 0; i < sums.held; ++i) {
      float& here = streams_in_shared ? total[i * warp_lanes] : y.number(i);
      here = segment == 0 ? sums.number(i) : here + sums.number(i);
    }
    block_barrier();
  }
  if constexpr (streams_in_shared) {
    UNROLL for (int i = 0; i < y.held; ++i) y.number(i) = total[i * warp_lanes];
  }
  auto* up = reinterpret_cast<float*>(inputs) + warp_index() % block_strips * many_columns * sums_pitch;
  if constexpr (pair) {
    if (half == 1) {
      y.each(lane, [&](int column, int row, float v) { up[column * sums_pitch + row] = v; });
    }
    block_barrier();
  }
  if (half != 0 || !real) return;
  y.each(lane, [&](int column, int row, float v) {
    const int output = strip * strip_outputs + row;
    if (column >= rows.count || output >= w.outputs) return;
    if constexpr (pair) v = canon::silu(v) * up[column * sums_pitch + row];
    part.y[static_cast<int64_t>(rows.output_row(column)) * part.stride + output] = v;
  });
}

}  // namespace lockstep::kernels::gpu
