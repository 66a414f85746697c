// Causal convolution of each channel over the rows of a sequence (canon.md, "Gated delta rule"). Included by
// delta_*.cpp.
#pragma once

#include "kernels/cpu/row_blocks.inl"
#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

constexpr int channels_of_task = 128;

// The raw inputs around a sequence: the state's taps-1 rows, then the sequence's own.
struct History {
  History(const Sequence& sequence, const DeltaShape& shape, const float* x, const float* state)
      : channels(shape.channels()),
        before(shape.taps - 1),
        own(x + static_cast<int64_t>(sequence.first_row) * channels),
        kept(sequence.first_position == 0
                 ? nullptr
                 : state + static_cast<int64_t>(sequence.state_slot) * before * channels) {}

  // Channels from `channel` on, t rows after the sequence's first, t >= 1 - taps. n: channels there are.
  Floats at(int t, int channel) const {
    if (t >= 0) return load_within(own + static_cast<int64_t>(t) * channels, channel, channels);
    return kept ? load_within(kept + static_cast<int64_t>(before + t) * channels, channel, channels)
                : broadcast(0.0f);
  }

  int channels, before;
  const float *own, *kept;
};

// The state after `rows` rows, for channels [first, end). Oldest first, so that a row is read before it is
// lost.
void store_history(const History& history, const Sequence& sequence, int rows, int first, int end,
                   float* state) {
  float* to = state + static_cast<int64_t>(sequence.state_slot) * history.before * history.channels;
  for (int c = first; c < end; c += lanes) {
    for (int t = 0; t < history.before; ++t) {
      store_within(to + static_cast<int64_t>(t) * history.channels, c, history.channels,
                   history.at(rows - history.before + t, c));
    }
  }
}

constexpr int block_vectors = 4;  // whose sums stay in registers

// Row `row` of N vectors of channels from `c` on; tap: [taps][channels_of_task] from the task's channel `c`
// on.
template <int N>
inline void convolve_row(const History& history, int row, int c, const float* tap, float* out) {
  Floats sum[N];
  each<N>([&](auto v) __attribute__((always_inline)) { sum[v] = broadcast(0.0f); });
  for (int t = -history.before; t <= 0; ++t) {
    each<N>([&](auto v) __attribute__((always_inline)) {
      sum[v] = fma(load(tap + v * lanes), history.at(row + t, c + v * lanes), sum[v]);
    });
    tap += channels_of_task;
  }
  each<N>([&](auto v) __attribute__((always_inline)) {
    store_within(out, c + v * lanes, history.channels, silu(sum[v]));
  });
}

// weight[channel][tap] to tap[tap][channels_of_task]; channels that are not there get 0.
void turn_taps(const float* weight, int channels, int taps, float* tap) {
  int c = 0;
  for (; taps == 4 && c + 4 <= channels; c += 4) {
    __m128 w[4] = {_mm_loadu_ps(weight + c * 4), _mm_loadu_ps(weight + c * 4 + 4),
                   _mm_loadu_ps(weight + c * 4 + 8), _mm_loadu_ps(weight + c * 4 + 12)};
    _MM_TRANSPOSE4_PS(w[0], w[1], w[2], w[3]);
    for (int t = 0; t < 4; ++t) _mm_storeu_ps(tap + t * channels_of_task + c, w[t]);
  }
  for (; c < channels_of_task; ++c) {
    for (int t = 0; t < taps; ++t) tap[t * channels_of_task + c] = c < channels ? weight[c * taps + t] : 0.0f;
  }
}

// Channels [first, end) of all rows. Rows outside: neighbouring channels lie together in memory.
void convolve(const Convolution& op, const Sequence& sequence, const History& history, int first, int end) {
  const int taps = op.shape.taps;
  auto* tap = static_cast<float*>(task_scratch(padded<float>(static_cast<size_t>(taps * channels_of_task))));
  turn_taps(op.weight + static_cast<int64_t>(first) * taps, end - first, taps, tap);
  for (int row = 0; row < sequence.rows; ++row) {
    float* out = op.out + static_cast<int64_t>(sequence.first_row + row) * history.channels;
    int c = first;
    for (; c + block_vectors * lanes <= end; c += block_vectors * lanes) {
      convolve_row<block_vectors>(history, row, c, tap + c - first, out);
    }
    for (; c < end; c += lanes) convolve_row<1>(history, row, c, tap + c - first, out);
  }
}

}  // namespace

void convolution(const Convolution& op, Pool& pool) {
  const int channels = op.shape.channels(), cuts = (channels + channels_of_task - 1) / channels_of_task;
  const bool small = static_cast<int64_t>(op.round.rows) * channels < small_work;
  for_tasks(pool, op.round.sequences * cuts, small, [&](int task) {
    const Sequence& sequence = op.round.sequence[task / cuts];
    const int first = task % cuts * channels_of_task;
    const int end = first + channels_of_task < channels ? first + channels_of_task : channels;
    const History history(sequence, op.shape, op.x, op.state);
    convolve(op, sequence, history, first, end);
    if (sequence.keep > 0) store_history(history, sequence, sequence.keep, first, end, op.state);
  });
}

void convolution_replay(const ConvolutionReplay& op, Pool& pool) {
  const int channels = op.shape.channels();
  for_tasks(pool, op.round.sequences, static_cast<int64_t>(op.round.sequences) * channels < small_work,
            [&](int i) {
              const Sequence& sequence = op.round.sequence[i];
              const History history(sequence, op.shape, op.x, op.state);
              if (sequence.keep > 0) store_history(history, sequence, sequence.keep, 0, channels, op.state);
            });
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
