// What one warp multiplies of a linear layer: a strip of outputs with the rows of its tiles.
#pragma once

#include "kernels/canon/math.h"
#include "kernels/gpu/weights.h"

namespace lockstep::kernels::gpu {

// The output rows of a block, and the expert that computes them. Kernels that get groups say so: it takes
// registers.
template <bool may_group>
struct BlockRows {
  int first, count, expert = 0;
  const int32_t* order;  // of groups, else null
  int rows_per_input;

  DEVICE_METHOD BlockRows(const LinearArgs& a, int block, int columns)
      : order(may_group ? a.order : nullptr), rows_per_input(a.rows_per_input) {
    if (order) {
      const Quad group = *reinterpret_cast<const Quad*>(a.groups + block);
      const auto word = [&](int i) { return same_in_warp(static_cast<int>(group.word[i])); };
      expert = word(0);
      first = word(1);
      count = word(2);
    } else if (a.expert) {
      expert = same_in_warp(a.expert[block]);
      first = block;
      count = 1;
    } else {
      first = block * columns;
      count = a.rows - first;
    }
  }

  DEVICE_METHOD int output_row(int column) const { return order ? order[first + column] : first + column; }
  // Columns past the last have the last one's row, and nobody takes their sums.
  DEVICE_METHOD uint32_t input_row(int column) const {
    return static_cast<uint32_t>(output_row(column < count ? column : count - 1) / rows_per_input);
  }
};

// Groups go to the kernels for many rows, where a chip has them.
using FewRows = BlockRows<!matrix_unit>;

// Where a lane finds one segment of its input rows in device memory: for each tile the row of bytes that it
// brings, and the multipliers and sums of the row whose results it holds. Inputs and groups count from the
// segment's first.
template <int group, int tiles>
struct Columns {
  const int8_t* plane[tile_planes];
  const float *multiplier, *sum;
  uint32_t row[tiles], scale[tiles];

  DEVICE_METHOD Columns(const LinearArgs& a, const FewRows& rows)
      : multiplier(a.in.multiplier), sum(a.in.sum) {
    const int lane = lane_index();
    UNROLL for (int p = 0; p < tile_planes; ++p) plane[p] = plane_of_lane(lane, p) ? a.in.low : a.in.high;
    const auto length = static_cast<uint32_t>(a.in.length);
    UNROLL for (int n = 0; n < tiles; ++n) {
      row[n] = rows.input_row(n * tile_inputs + input_of_lane(lane)) * length;
      scale[n] = rows.input_row(n * tile_inputs + result_input(lane)) * (length / group);
    }
  }
  DEVICE_METHOD Columns at(int segment) const {
    Columns moved = *this;
    UNROLL for (int p = 0; p < tile_planes; ++p) moved.plane[p] += segment * segment_inputs;
    moved.multiplier += segment * (segment_inputs / group);
    moved.sum += segment * (segment_inputs / group);
    return moved;
  }

  DEVICE_METHOD const int8_t* bytes(int p, int n, int k) const { return plane[p] + row[n] + k; }
  // Tiles of inputs k to k + 31, or two of k to k + 63.
  DEVICE_METHOD TileB one(int p, int n, int k) const { return tile_b_plain(bytes(p, n, k), lane_index()); }
  DEVICE_METHOD void two(int p, int n, int k, TileB* to) const {
    tile_b_two(bytes(p, n, k), lane_index(), to);
  }
  DEVICE_METHOD float multiplier_of(int n, int g) const {
    return multiplier[scale[n] + static_cast<uint32_t>(g)];
  }
  DEVICE_METHOD float sum_of(int n, int g) const { return sum[scale[n] + static_cast<uint32_t>(g)]; }
};

// The same for rows of whole segments: all that so many units need is brought at once, before they are used.
template <int group, int tiles>
struct WholeColumns {
  // More would leave too few warps to a multiprocessor.
  static constexpr int inputs = tiles > 2 ? inputs_of_unit(group) : piece_inputs;
  static constexpr int groups = inputs / group, quads = inputs / 64;
  const Columns<group, tiles>& all;
  int segment;
  float multiplier[tiles][groups], sum[tiles][groups];
  TileB held[tile_planes][tiles][quads][2];

  // From input k of the segment on.
  DEVICE_METHOD void bring(int k) {
    const auto group_index = static_cast<uint32_t>(segment * (segment_inputs / group) + k / group);
    UNROLL for (int n = 0; n < tiles; ++n) {
      load(all.multiplier + (all.scale[n] + group_index), multiplier[n]);
      load(all.sum + (all.scale[n] + group_index), sum[n]);
    }
    UNROLL for (int u = 0; u < quads; ++u) {
      UNROLL for (int n = 0; n < tiles; ++n) {
        UNROLL for (int p = 0; p < tile_planes; ++p) {
          const int8_t* from = all.bytes(p, n, segment * segment_inputs + k + u * 64);
          if constexpr (group == 32) {
            UNROLL for (int s = 0; s < 2; ++s) {
              held[p][n][u][s] = tile_b_plain(from + s * step_inputs, lane_index());
            }
          } else {
            tile_b_two(from, lane_index(), held[p][n][u]);
          }
        }
      }
    }
  }
  DEVICE_METHOD TileB one(int p, int n, int k) const {
    return held[p][n][k / 64 % quads][k / step_inputs % 2];
  }
  DEVICE_METHOD void two(int p, int n, int k, TileB* to) const {
    UNROLL for (int s = 0; s < 2; ++s) to[s] = held[p][n][k / 64 % quads][s];
  }
  DEVICE_METHOD float multiplier_of(int n, int g) const { return multiplier[n][g % groups]; }
  DEVICE_METHOD float sum_of(int n, int g) const { return sum[n][g % groups]; }

 private:
  static DEVICE_METHOD void load(const float* from, float* to) {
    if constexpr (groups == 1) {
      *to = *from;
    } else if constexpr (groups == 2) {
      const Duo d = *reinterpret_cast<const Duo*>(from);
      UNROLL for (int i = 0; i < 2; ++i) to[i] = canon::float_of(d.word[i]);
    } else {
      UNROLL for (int i = 0; i < groups; i += 4) {
        const Quad q = *reinterpret_cast<const Quad*>(from + i);
        UNROLL for (int j = 0; j < 4; ++j) to[i + j] = canon::float_of(q.word[j]);
      }
    }
  }
};

template <int bits, int group, int tiles>
struct StripSums {
  static constexpr int unit = inputs_of_unit(group), steps = unit / step_inputs;
  static constexpr int lane_pairs = strip_tiles * lane_tile_rows;  // scales and biases of a lane
  static constexpr int group_steps = group / step_inputs, groups_of_unit = unit / group;
  static constexpr int held = strip_tiles * tiles * tile_results;
  float sum[strip_tiles][tiles][tile_results];

  DEVICE_METHOD float& number(int i) {
    return sum[i / tile_results / tiles][i / tile_results % tiles][i % tile_results];
  }
  DEVICE_METHOD void clear() { UNROLL for (int i = 0; i < held; ++i) number(i) = 0.0f; }

  // f(column, output of the strip, sum) for all that the lane holds.
  template <class F>
  DEVICE_METHOD void each(int lane, F f) const {
    UNROLL for (int t = 0; t < strip_tiles; ++t) {
      UNROLL for (int n = 0; n < tiles; ++n) {
        UNROLL for (int i = 0; i < tile_results; ++i) {
          f(n * tile_inputs + result_input(lane), t * tile_rows + result_row(lane, i), sum[t][n][i]);
        }
      }
    }
  }

  // Adds unit `at` of a segment; `left`: groups of the row from the segment's first on.
  template <class Inputs>
  DEVICE_METHOD void add(const Inputs& inputs, const uint8_t* codes, bool wide, int at, int left) {
    const int lane = lane_index();
    TileCodes<bits> own[unit / 64][strip_tiles];
    UNROLL for (int p = 0; p < unit / 64; ++p) {
      UNROLL for (int t = 0; t < strip_tiles; ++t) {
        own[p][t].load(codes + (p * strip_tiles + t) * tile_code_bytes(bits), lane);
      }
    }
    const uint8_t* pairs = codes + unit_code_bytes(bits, group);
    UNROLL for (int g = 0; g < groups_of_unit; ++g) {
      const int index = at * groups_of_unit + g;
      if (index >= left) return;
      float scale[lane_pairs], bias[lane_pairs];
      if (wide) {
        const auto* own_pairs =
            reinterpret_cast<const Quad*>(pairs + g * scale_bytes(true)) + row_chunk(lane) * (lane_pairs / 2);
        UNROLL for (int i = 0; i < lane_pairs; i += 2) {
          const Quad two = own_pairs[i / 2];
          UNROLL for (int j = 0; j < 2; ++j) {
            scale[i + j] = canon::float_of(two.word[2 * j]);
            bias[i + j] = canon::float_of(two.word[2 * j + 1]);
          }
        }
      } else {
        const auto* own_pairs = reinterpret_cast<const Quad*>(pairs + g * scale_bytes(false)) +
                                row_chunk(lane) * (lane_pairs / 4);
        UNROLL for (int i = 0; i < lane_pairs; i += 4) {
          const Quad four = own_pairs[i / 4];
          UNROLL for (int j = 0; j < 4; ++j) {
            scale[i + j] = low_bf16(four.word[j]);
            bias[i + j] = high_bf16(four.word[j]);
          }
        }
      }
      UNROLL for (int n = 0; n < tiles; ++n) {
        const float multiplier = inputs.multiplier_of(n, index), block_sum = inputs.sum_of(n, index);
        if constexpr (scarce_registers && tiles > 1) {
          UNROLL for (int q = 0; q < unit / 64; ++q) {
            UNROLL for (int t = 0; t < strip_tiles; ++t) {
              UNROLL for (int i = 0; i < bits; ++i) recompute(own[q][t].word[i]);
            }
          }
        }
        // Tiles of the strip at once, or one after the other where registers are scarce.
        constexpr bool in_turn = tiles_in_turn || (group == 128 && sizeof(TileA) > sizeof(Quad));
        constexpr int at_once = in_turn ? 1 : strip_tiles;
        UNROLL for (int tile = 0; tile < strip_tiles; tile += at_once) {
          TileSums sums[at_once][tile_planes];
          UNROLL for (int t = 0; t < at_once; ++t) {
            UNROLL for (int p = 0; p < tile_planes; ++p) sums[t][p] = no_sums();
          }
          TileB own_inputs[tile_planes][2];
          UNROLL for (int s = 0; s < group_steps; ++s) {
            const int step = g * group_steps + s, k = index * group + s * step_inputs;
            keep_order();
            UNROLL for (int p = 0; p < tile_planes; ++p) {
              if constexpr (group == 32) {
                own_inputs[p][s % 2] = inputs.one(p, n, k);
              } else if (s % 2 == 0) {
                inputs.two(p, n, k, own_inputs[p]);
              }
            }
            UNROLL for (int t = 0; t < at_once; ++t) {
              const TileA codes_of_step = tile_a(own[step / 2][tile + t].step(step % 2));
              UNROLL for (int p = 0; p < tile_planes; ++p) {
                multiply<false>(sums[t][p], codes_of_step, own_inputs[p][s % 2]);
              }
            }
          }
          UNROLL for (int t = 0; t < at_once; ++t) {
            UNROLL for (int i = 0; i < tile_results; ++i) {
              const int row = (tile + t) * lane_tile_rows + result_row_index(i);
              const float d = static_cast<float>(result(sums[t], i)) * multiplier;
              float& seg = sum[tile + t][n][i];
              seg = canon::fma(scale[row], d, seg);
              seg = canon::fma(bias[row], block_sum, seg);
            }
          }
        }
      }
    }
  }
};

}  // namespace lockstep::kernels::gpu
