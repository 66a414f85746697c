// Causal convolution and the gated delta rule.
#include "kernels/canon/math.h"
#include "kernels/device/tiles.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/layout.h"
#include "kernels/gpu/rows.h"

namespace lockstep::kernels::gpu {

constexpr int most_taps = 8;
constexpr int convolution_rows = 16;  // of one block

// Raw input t rows after the sequence's first, t >= 1 - taps.
struct History {
  const float *x, *state;
  int64_t channels;
  int before;

  DEVICE_METHOD float at(int t) const {
    if (t >= 0) return x[t * channels];
    return state ? state[(before + t) * channels] : 0.0f;
  }
};

// Grid: x channels / 256, y blocks of rows of a sequence, z sequences. The first block of rows, which alone
// reads the state, also stores it.
KERNEL(convolution, ConvolutionArgs, 256) {
  wait_for_inputs();
  let_next_start();
  const int channel = block_x() * 256 + thread_index();
  const Sequence& s = a.round.sequence[block_z()];
  const int before = a.taps - 1, first = block_y() * convolution_rows;
  if (channel >= a.channels || first >= s.rows) return;
  float* state = a.state + static_cast<int64_t>(s.state_slot) * before * a.channels + channel;
  const History history = {a.x + static_cast<int64_t>(s.first_row) * a.channels + channel,
                           s.first_position == 0 ? nullptr : state, a.channels, before};
  if (a.out) {
    const int end = first + convolution_rows < s.rows ? first + convolution_rows : s.rows;
    for (int t = first; t < end; ++t) {
      float sum = 0.0f;
      for (int tap = 0; tap <= before; ++tap) {
        sum = canon::fma(a.weight[static_cast<int64_t>(channel) * a.taps + tap], history.at(t - before + tap),
                         sum);
      }
      a.out[(static_cast<int64_t>(s.first_row) + t) * a.channels + channel] = canon::silu(sum);
    }
  }
  if (first != 0 || s.keep == 0) return;
  float next[most_taps - 1];
  UNROLL for (int t = 0; t < most_taps - 1; ++t) {
    if (t < before) next[t] = history.at(s.keep - before + t);
  }
  UNROLL for (int t = 0; t < most_taps - 1; ++t) {
    if (t < before) state[t * static_cast<int64_t>(a.channels)] = next[t];
  }
}

constexpr int delta_columns = 32;  // value dimensions of a block

// What a row brings to a value head, in shared memory.
template <int numbers>
struct alignas(16) DeltaRow {
  float k[4][numbers], q[4][numbers];  // of strand i%4, number i/4
  float decay, beta;
};

// Numbers of queries or keys of at_once neighbouring rows at each strand's place to(row), by one warp; rows
// past the last of `count` are the last.
template <int numbers, int at_once, class Place>
DEVICE_FUNCTION void place_normalized(const float* x, int64_t stride, int count, int n, float factor,
                                      Place to) {
  constexpr int held = 4 * numbers / warp_lanes;
  const int lane = lane_index();
  float own[at_once][held];
  UNROLL for (int row = 0; row < at_once; ++row) {
    UNROLL for (int j = 0; j < held; ++j) {
      const int i = lane + j * warp_lanes;
      own[row][j] = i < n ? x[(row < count ? row : count - 1) * stride + i] : 0.0f;
    }
  }
  UNROLL for (int row = 0; row < at_once; ++row) {
    float strand = 0.0f;
    UNROLL for (int j = 0; j < held; ++j) {
      if (lane + j * warp_lanes < n) strand = canon::fma(own[row][j], own[row][j], strand);
    }
    const float r = canon::inverse_root(fold_lanes(strand) + 1e-6f);
    UNROLL for (int j = 0; j < held; ++j) {
      const int i = lane + j * warp_lanes;
      const float v = i < n ? own[row][j] * r : 0.0f;
      to(row)[i % 4][i / 4] = i < n && factor != 0.0f ? v * factor : v;
    }
  }
}

// Everything of at_once rows from `row` on that all columns share, a warp for each part.
template <int numbers, bool replay, int at_once>
DEVICE_FUNCTION void prepare_rows(const DeltaArgs& a, int64_t row, int count, int head,
                                  DeltaRow<numbers>* to) {
  const DeltaShape& s = a.shape;
  const int64_t channels =
      2 * static_cast<int64_t>(s.key_heads) * s.key_dim + static_cast<int64_t>(s.value_heads) * s.value_dim;
  const float* q =
      a.qkv + row * channels + static_cast<int64_t>(head / (s.value_heads / s.key_heads)) * s.key_dim;
  const int lane = lane_index(), part = warp_index();
  const int64_t at = (row + (lane < count ? lane : count - 1)) * s.value_heads + head;  // a lane for each row
  if (part == 0) {
    place_normalized<numbers, at_once>(q + static_cast<int64_t>(s.key_heads) * s.key_dim, channels, count,
                                       s.key_dim, 0.0f, [&](int r) { return to[r].k; });
  } else if (part == 1) {
    const float decay = canon::exp(-(canon::exp(a.a_log[head]) * canon::softplus(a.a[at] + a.dt_bias[head])));
    if (lane < at_once) to[lane].decay = decay;
  } else if (!replay && part == 2) {
    place_normalized<numbers, at_once>(q, channels, count, s.key_dim, a.q_scale,
                                       [&](int r) { return to[r].q; });
  } else if (!replay) {
    const float beta = canon::sigmoid(a.b[at]);
    if (lane < at_once) to[lane].beta = beta;
  }
}

// (s0 + s1) + (s2 + s3) of four neighbouring lanes.
DEVICE_FUNCTION float fold_four(float v) {
  v = v + exchange<1>(v);
  return v + exchange<2>(v);
}

// One value head of one sequence, 32 of its columns: thread 4*j + t has strand t of column j, rows t, t+4,
// ... of the state. Whole: keys have 4 * numbers dimensions, values whole blocks of columns. Grid: x columns
// / 32, y value heads, z sequences. Shared: two times at_once DeltaRows; those of the next rows are made
// while these are used.
template <int numbers, bool replay, bool whole, int at_once>
DEVICE_FUNCTION void delta_head(const DeltaArgs& a) {
  wait_for_inputs();
  let_next_start();
  auto* rows = reinterpret_cast<DeltaRow<numbers>*>(shared_memory());
  const DeltaShape& shape = a.shape;
  const Sequence& s = a.round.sequence[block_z()];
  const int dk = whole ? 4 * numbers : shape.key_dim, dv = shape.value_dim, head = block_y(),
            strand = thread_index() % 4;
  const int count = replay ? s.keep : s.rows;
  if (count == 0) return;
  const int column = block_x() * delta_columns + thread_index() / 4;
  const bool real = whole || column < dv;
  const int64_t channels =
      2 * static_cast<int64_t>(shape.key_heads) * dk + static_cast<int64_t>(shape.value_heads) * dv;
  float* state = a.state + (static_cast<int64_t>(s.state_slot) * shape.value_heads + head) * dk * dv +
                 strand * dv + column;
  const auto has = [&](int n) { return whole || (real && 4 * n + strand < dk); };
  float own[numbers];
  UNROLL for (int n = 0; n < numbers; ++n) {
    own[n] = 0.0f;
    if (s.first_position != 0 && has(n)) own[n] = state[4 * n * dv];
  }
  const int64_t values = static_cast<int64_t>(shape.value_heads) * dv;
  const int64_t own_value = static_cast<int64_t>(head) * dv + column;
  // Of a replay the updates themselves.
  const float* value = (replay ? a.update : a.qkv + (channels - values)) + own_value;
  const int64_t stride = replay ? values : channels;
  NO_UNROLL for (int first = -at_once; first < count; first += at_once) {
    float v[at_once];
    UNROLL for (int r = 0; r < at_once; ++r) {
      const int t = first + r;
      v[r] = real && t >= 0 && t < count ? value[(s.first_row + t) * stride] : 0.0f;
    }
    block_barrier();
    const int next = first + at_once;
    if (next < count) {
      prepare_rows<numbers, replay, at_once>(a, s.first_row + next, count - next, head,
                                             rows + next / at_once % 2 * at_once);
    }
    if (first < 0) continue;
    UNROLL for (int r = 0; r < at_once; ++r) {
      if (first + r >= count) break;
      const DeltaRow<numbers>& now = rows[first / at_once % 2 * at_once + r];
      const float decay = now.decay;
      float u = v[r];
      UNROLL for (int n = 0; n < numbers; ++n) own[n] = own[n] * decay;
      if constexpr (!replay) {
        float dot = 0.0f;
        UNROLL for (int n = 0; n < numbers; ++n) {
          if (has(n)) dot = canon::fma(own[n], now.k[strand][n], dot);
        }
        dot = fold_four(dot);
        u = now.beta * (u - dot);
      }
      UNROLL for (int n = 0; n < numbers; ++n) {
        if (has(n)) own[n] = canon::fma(now.k[strand][n], u, own[n]);
      }
      if constexpr (!replay) {
        float dot = 0.0f;
        UNROLL for (int n = 0; n < numbers; ++n) {
          if (has(n)) dot = canon::fma(own[n], now.q[strand][n], dot);
        }
        dot = fold_four(dot);
        if (real && strand == 0) {
          const int64_t at = (s.first_row + first + r) * values + own_value;
          if (a.update) a.update[at] = u;
          a.out[at] = dot;
        }
      }
    }
  }
  if (s.keep == 0 || !real) return;
  auto step = static_cast<uint32_t>(4 * dv);
  recompute(step);  // places kept since they were read would take too many scalar registers
  UNROLL for (int n = 0; n < numbers; ++n) {
    if (has(n)) state[static_cast<uint32_t>(n) * step] = own[n];
  }
}

// One row of each sequence, or many: then four are prepared at once.
KERNEL_OF_BLOCKS(delta_rule_64, DeltaArgs, 128, 5) { delta_head<16, false, true, 1>(a); }
KERNEL_OF_BLOCKS(delta_rule_128, DeltaArgs, 128, 5) { delta_head<32, false, true, 1>(a); }
KERNEL_OF_BLOCKS(delta_rule_any, DeltaArgs, 128, 4) { delta_head<32, false, false, 1>(a); }
KERNEL_OF_BLOCKS(delta_rows_64, DeltaArgs, 128, 4) { delta_head<16, false, true, delta_rows_at_once>(a); }
KERNEL_OF_BLOCKS(delta_rows_128, DeltaArgs, 128, 4) { delta_head<32, false, true, delta_rows_at_once>(a); }
KERNEL_OF_BLOCKS(delta_rows_any, DeltaArgs, 128, 4) { delta_head<32, false, false, delta_rows_at_once>(a); }
KERNEL_OF_BLOCKS(delta_replay_64, DeltaArgs, 128, 5) { delta_head<16, true, true, 1>(a); }
KERNEL_OF_BLOCKS(delta_replay_128, DeltaArgs, 128, 5) { delta_head<32, true, true, 1>(a); }
KERNEL_OF_BLOCKS(delta_replay_any, DeltaArgs, 128, 4) { delta_head<32, true, false, 1>(a); }

// The gated norm of each head, in place, and its blocks. Grid: x value heads / 4, y rows.
KERNEL(delta_norm, DeltaArgs, 128) {
  wait_for_inputs();
  let_next_start();
  const int head = block_x() * 4 + warp_index(), dv = a.shape.value_dim;
  if (head >= a.shape.value_heads) return;
  const int64_t first = (static_cast<int64_t>(block_y()) * a.shape.value_heads + head) * dv;
  float* o = a.out + first;
  const float ss = warp_sum_of_squares(dv, [&](int i) { return o[i]; });
  const float r = canon::inverse_root(ss / static_cast<float>(dv) + a.eps);
  for (int j = lane_index(); j < dv; j += warp_lanes) {
    o[j] = ((o[j] * r) * a.norm[j]) * canon::silu(a.z[first + j]);
  }
  if (!a.blocks.high) return;
  const int group = a.blocks.group;  // a multiple of the lanes: each reads what it wrote
  for (int g = 0; g < dv / group; ++g) {
    write_block(a.blocks, first / group + g, [&](int i) { return o[g * group + i]; });
  }
}

}  // namespace lockstep::kernels::gpu
