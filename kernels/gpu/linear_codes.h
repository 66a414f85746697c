// Linear layers of codes for up to 32 rows at a time, and gate|up pairs with SwiGLU.
#pragma once

#include "kernels/device/stream.h"
#include "kernels/gpu/strip_sums.h"

namespace lockstep::kernels::gpu {

// One segment of a strip, as it comes in pieces; before(the piece's first unit) while it comes, f(that
// unit, its bytes).
template <int group, class Weights, class B, class F>
DEVICE_FUNCTION void each_piece(Weights& weights, int units_left, B before, F f) {
  constexpr int pieces = segment_inputs / piece_inputs, units = piece_inputs / inputs_of_unit(group);
  UNROLL for (int piece = 0; piece < pieces; ++piece) {
    if (piece * units >= units_left) break;
    before(piece * units);
    f(piece * units, weights.wait());
    weights.done();
  }
}

// Adds a segment to sums that are cleared.
template <int bits, int group, int tiles, class Weights>
DEVICE_FUNCTION void add_segment(StripSums<bits, group, tiles>& sums, const Columns<group, tiles>& columns,
                                 Weights& weights, const PackedWeights& w, int segment) {
  constexpr int units = piece_inputs / inputs_of_unit(group), unit_inputs_here = inputs_of_unit(group);
  const int bytes = unit_bytes(bits, group, w.wide), first = segment * segment_inputs;
  if constexpr (whole_columns && tiles <= 4) {
    if (w.inputs % segment_inputs == 0) {
      WholeColumns<group, tiles> whole{columns, segment, {}, {}, {}};
      constexpr bool in_turn = whole.inputs < piece_inputs;
      const auto bring = [&](int unit) { whole.bring(unit * unit_inputs_here); };
      each_piece<group>(weights, segment_inputs, bring, [&](int unit, const uint8_t* codes) {
        UNROLL for (int u = 0; u < units; ++u) {
          if (in_turn && u > 0) bring(unit + u);
          sums.add(whole, codes + u * bytes, w.wide, unit + u, segment_inputs);
        }
      });
      return;
    }
  }
  const Columns<group, tiles> here = columns.at(segment);
  const int units_left = (w.inputs - first + unit_inputs_here - 1) / unit_inputs_here;
  each_piece<group>(
      weights, units_left, [](int) {},
      [&](int unit, const uint8_t* codes) {
        NO_UNROLL for (int u = 0; u < units && unit + u < units_left; ++u) {
          sums.add(here, codes + u * bytes, w.wide, unit + u, (w.inputs - first) / group);
        }
      });
}

template <int bits, int group>
using WeightStream = Stream<stream_slots, piece_bytes(bits, group), segment_inputs / piece_inputs>;

// Grid: x strips of all parts, y row blocks, or groups of rows, or rows when each has its expert. Block:
// LinearArgs::warps warps, of a pair twice as many. Shared: a Stream for each warp, then sums of
// LinearArgs::turns turns [turns][halves][warps][columns][sums_pitch].
template <int bits, int group, int columns_held, bool pair>
DEVICE_FUNCTION void linear_codes(const LinearArgs& a) {
  constexpr int tiles = columns_held / tile_inputs, halves = pair ? 2 : 1;
  constexpr int most_per_thread = strip_outputs * columns_held / (halves * fewest_warps * warp_lanes);
  constexpr int per_thread = most_per_thread > 1 ? most_per_thread : 1;
  using Weights = WeightStream<bits, group>;
  let_next_start();
  const bool routed = a.expert || a.groups;
  if (routed) wait_for_inputs();
  const FewRows rows(a, block_y(), columns_held);
  if (rows.count == 0) return;  // of a group
  int p = 0;
  while (p + 1 < a.parts && block_x() >= a.part[p + 1].first_strip) ++p;
  const LinearPart& part = a.part[p];
  const PackedWeights& w = part.weights;
  const int strip = block_x() - part.first_strip, half = warp_index() / a.warps, own = warp_index() % a.warps;
  const int threads = halves * a.warps * warp_lanes, lane = lane_index();
  const uint8_t* data = w.data + static_cast<uint64_t>(rows.expert) * w.expert_bytes +
                        static_cast<uint64_t>(strip * halves + half) * w.strip_bytes;
  const int piece = piece_inputs / inputs_of_unit(group) * unit_bytes(bits, group, w.wide);
  const int segment_bytes = segment_inputs / piece_inputs * piece;
  Weights weights(shared_memory() + warp_index() * Weights::shared_bytes, data + own * segment_bytes,
                  data + w.strip_bytes, static_cast<int64_t>(a.warps) * segment_bytes, piece);
  if (!routed) wait_for_inputs();  // weights are nobody's output
  const Columns<group, tiles> columns(a, rows);
  const int segments = (w.inputs + segment_inputs - 1) / segment_inputs;
  auto* shared = reinterpret_cast<float*>(shared_memory() +
                                          (streams_in_shared ? halves * a.warps * Weights::shared_bytes : 0));
  const int turn_sums = halves * a.warps * columns_held * sums_pitch;
  float y[halves][per_thread] = {};
  int added = 0, kept = 0;  // segments; turns whose sums wait
  NO_UNROLL for (int turn = 0; turn * a.warps < segments; ++turn) {
    const int segment = turn * a.warps + own, end = (turn + 1) * a.warps;
    if (segment < segments) {
      StripSums<bits, group, tiles> sums;
      sums.clear();
      add_segment(sums, columns, weights, w, segment);
      float* to = shared + kept * turn_sums + warp_index() * columns_held * sums_pitch;
      sums.each(lane, [&](int column, int row, float v) { to[column * sums_pitch + row] = v; });
    }
    if (++kept < a.turns && end < segments) continue;
    kept = 0;
    block_barrier();
    const int last = end < segments ? end : segments;
    UNROLL for (int i = 0; i < per_thread; ++i) {
      const int place = thread_index() + i * threads;
      if (place >= strip_outputs * columns_held) break;
      const float* from = shared + (place / strip_outputs) * sums_pitch + place % strip_outputs;
      UNROLL for (int h = 0; h < halves; ++h) {
        const float* at = from + h * a.warps * columns_held * sums_pitch;
        for (int s = added; s < last; at += turn_sums) {
          for (int k = 0; k < a.warps && s < last; ++k, ++s) {
            const float v = at[k * columns_held * sums_pitch];
            y[h][i] = s == 0 ? v : y[h][i] + v;
          }
        }
      }
    }
    added = last;
    if (end < segments) block_barrier();
  }
  UNROLL for (int i = 0; i < per_thread; ++i) {
    const int place = thread_index() + i * threads, column = place / strip_outputs;
    const int output = strip * strip_outputs + place % strip_outputs;
    if (column >= columns_held || column >= rows.count || output >= w.outputs) continue;
    float v = y[0][i];
    if constexpr (pair) v = canon::silu(v) * y[halves - 1][i];
    part.y[static_cast<int64_t>(rows.output_row(column)) * part.stride + output] = v;
  }
}

}  // namespace lockstep::kernels::gpu
