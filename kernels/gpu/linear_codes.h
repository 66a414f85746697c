// Linear layers of codes for up to 32 rows at a time, and gate|up pairs with SwiGLU.
#pragma once

#include "kernels/canon/math.h"
#include "kernels/gpu/weights.h"

namespace lockstep::kernels::gpu {

constexpr int segment_warps = 4;  // warps of a strip; each takes every fourth segment
constexpr int sums_pitch = 36;    // floats from one row's 32 outputs to the next: no bank conflicts

// Of one column's group: the multiplier and the block's sum.
struct ColumnScale {
  float multiplier, sum;
};

// The columns (input rows) that this block computes, and where they are.
struct Columns {
  const LinearArgs& a;
  int first, count;  // output rows

  DEVICE_METHOD int64_t input(int column) const { return (first + column) / a.rows_per_input; }
};

template <int bits, int group, int tiles>
struct StripSums {
  static constexpr int unit = inputs_of_unit(group), steps = unit / step_inputs;
  static constexpr int group_steps = group / step_inputs, groups_of_unit = unit / group;
  float sum[strip_tiles][tiles][tile_sums];

  DEVICE_METHOD void clear() {
    UNROLL for (int t = 0; t < strip_tiles; ++t) {
      UNROLL for (int n = 0; n < tiles; ++n) {
        UNROLL for (int i = 0; i < tile_sums; ++i) sum[t][n][i] = 0.0f;
      }
    }
  }

  // Adds one unit; `groups` of the row are counted from its start.
  DEVICE_METHOD void add(const Columns& columns, const uint8_t* codes, bool wide, int at) {
    const LinearArgs& a = columns.a;
    const int lane = lane_index(), groups = a.in.length / group;
    TileCodes<bits> own[unit / 64][strip_tiles];
    UNROLL for (int p = 0; p < unit / 64; ++p) {
      UNROLL for (int t = 0; t < strip_tiles; ++t) {
        own[p][t].load(codes + (p * strip_tiles + t) * tile_code_bytes(bits), lane);
      }
    }
    const uint8_t* pairs = codes + unit_code_bytes(bits, group);
    UNROLL for (int g = 0; g < groups_of_unit; ++g) {
      const int index = at * groups_of_unit + g;
      if (index >= groups) return;
      float scale[strip_tiles * lane_tile_rows], bias[strip_tiles * lane_tile_rows];
      UNROLL for (int i = 0; i < strip_tiles * lane_tile_rows; ++i) {
        const int place = row_chunk(lane) * strip_tiles * lane_tile_rows + i;
        if (wide) {
          const Duo pair = reinterpret_cast<const Duo*>(pairs + g * scale_bytes(true))[place];
          scale[i] = canon::float_of(pair.word[0]);
          bias[i] = canon::float_of(pair.word[1]);
        } else {
          const uint32_t pair = reinterpret_cast<const uint32_t*>(pairs + g * scale_bytes(false))[place];
          scale[i] = low_bf16(pair);
          bias[i] = high_bf16(pair);
        }
      }
      UNROLL for (int n = 0; n < tiles; ++n) {
        TileB high[group_steps], low[group_steps];
        load_inputs(columns, n, index, high, low);
        ColumnScale of[tile_sums];
        load_scales(columns, n, index, groups, of);
        UNROLL for (int t = 0; t < strip_tiles; ++t) {
          TileSums h = no_sums(), l = no_sums();
          UNROLL for (int s = 0; s < group_steps; ++s) {
            const int step = g * group_steps + s;
            const TileA codes_of_step = tile_a(own[step / 2][t].step(step % 2));
            multiply<false>(h, codes_of_step, high[s]);
            multiply<false>(l, codes_of_step, low[s]);
          }
          UNROLL for (int i = 0; i < tile_sums; ++i) {
            const int row = t * lane_tile_rows + sum_row_index(i);
            const float d = static_cast<float>(h.sum[i] * 256 + l.sum[i]) * of[i].multiplier;
            float& seg = sum[t][n][i];
            seg = canon::fma(scale[row], d, seg);
            seg = canon::fma(bias[row], of[i].sum, seg);
          }
        }
      }
    }
  }

 private:
  static DEVICE_METHOD void load_inputs(const Columns& columns, int n, int index, TileB* high, TileB* low) {
    const LinearArgs& a = columns.a;
    const int column = n * tile_columns + b_column(lane_index());
    UNROLL for (int s = 0; s < group_steps; ++s) {
      if (column < columns.count) {
        const int64_t from = columns.input(column) * a.in.length + index * group + s * step_inputs;
        high[s] = tile_b_plain(a.in.high + from, lane_index());
        low[s] = tile_b_plain(a.in.low + from, lane_index());
      } else {
        high[s] = TileB{};
        low[s] = TileB{};
      }
    }
  }
  static DEVICE_METHOD void load_scales(const Columns& columns, int n, int index, int groups,
                                        ColumnScale* of) {
    const LinearArgs& a = columns.a;
    UNROLL for (int i = 0; i < tile_sums; ++i) {
      const int column = n * tile_columns + sum_column(lane_index(), i);
      of[i] = {0.0f, 0.0f};
      if (column < columns.count) {
        const int64_t from = columns.input(column) * groups + index;
        of[i] = {a.in.multiplier[from], a.in.sum[from]};
      }
    }
  }
};

// Grid: x strips of all parts, y row blocks, or rows when each has its expert. Shared:
// [halves][segment_warps][columns][sums_pitch] floats.
template <int bits, int group, int most_columns, bool pair>
DEVICE_FUNCTION void linear_codes(const LinearArgs& a) {
  constexpr int tiles = most_columns / tile_columns > 1 ? most_columns / tile_columns : 1;
  constexpr int columns_held = tiles * tile_columns, halves = pair ? 2 : 1;
  constexpr int threads = halves * segment_warps * warp_lanes;
  constexpr int per_thread = strip_outputs * columns_held / threads;
  constexpr int units_of_segment = segment_inputs / inputs_of_unit(group);
  let_next_start();
  wait_for_inputs();
  int p = 0;
  while (p + 1 < a.parts && block_x() >= a.part[p + 1].first_strip) ++p;
  const LinearPart& part = a.part[p];
  const PackedWeights& w = part.weights;
  const int strip = block_x() - part.first_strip, half = warp_index() / segment_warps;
  const Columns columns = {a, a.expert ? block_y() : block_y() * columns_held,
                           a.expert ? 1 : a.rows - block_y() * columns_held};
  const int expert = a.expert ? a.expert[block_y()] : 0;
  const uint8_t* data = w.data + static_cast<uint64_t>(expert) * w.expert_bytes +
                        static_cast<uint64_t>(strip * halves + half) * w.strip_bytes;
  const int bytes = unit_bytes(bits, group, w.wide);
  const int units = (w.inputs + inputs_of_unit(group) - 1) / inputs_of_unit(group);
  const int segments = (w.inputs + segment_inputs - 1) / segment_inputs;
  auto* shared = reinterpret_cast<float*>(shared_memory());
  float y[halves][per_thread];
  for (int first = 0; first < segments; first += segment_warps) {
    const int segment = first + warp_index() % segment_warps, lane = lane_index();
    if (segment < segments) {
      StripSums<bits, group, tiles> sums;
      sums.clear();
      NO_UNROLL for (int u = segment * units_of_segment; u < units && u < (segment + 1) * units_of_segment;
                     ++u) {
        sums.add(columns, data + static_cast<int64_t>(u) * bytes, w.wide, u);
      }
      UNROLL for (int t = 0; t < strip_tiles; ++t) {
        UNROLL for (int n = 0; n < tiles; ++n) {
          UNROLL for (int i = 0; i < tile_sums; ++i) {
            const int column = n * tile_columns + sum_column(lane, i);
            shared[(warp_index() * columns_held + column) * sums_pitch + t * tile_rows + sum_row(lane, i)] =
                sums.sum[t][n][i];
          }
        }
      }
    }
    block_barrier();
    UNROLL for (int i = 0; i < per_thread; ++i) {
      const int place = thread_index() + i * threads;
      const float* from = shared + (place / strip_outputs) * sums_pitch + place % strip_outputs;
      UNROLL for (int h = 0; h < halves; ++h) {
        UNROLL for (int s = 0; s < segment_warps; ++s) {
          if (first + s >= segments) break;
          const float v = from[(h * segment_warps + s) * columns_held * sums_pitch];
          y[h][i] = first + s == 0 ? v : y[h][i] + v;
        }
      }
    }
    block_barrier();
  }
  UNROLL for (int i = 0; i < per_thread; ++i) {
    const int place = thread_index() + i * threads, column = place / strip_outputs;
    const int output = strip * strip_outputs + place % strip_outputs;
    if (column >= columns.count || output >= w.outputs) continue;
    float v = y[0][i];
    if constexpr (pair) v = canon::silu(v) * y[halves - 1][i];
    part.y[static_cast<int64_t>(columns.first + column) * part.stride + output] = v;
  }
}

}  // namespace lockstep::kernels::gpu
