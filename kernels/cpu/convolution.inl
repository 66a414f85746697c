// Causal convolution of each channel over the rows of a sequence (canon.md, "Gated delta rule"). Included by
// delta_*.cpp.
#pragma once

#include "kernels/cpu/row_blocks.inl"
#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

constexpr int channels_of_task = 128;

int channels_of(const DeltaShape& s) { return 2 * s.key_heads * s.key_dim + s.value_heads * s.value_dim; }

// The raw inputs around a sequence: the state's taps-1 rows, then the sequence's own.
struct History {
  History(const Sequence& sequence, const DeltaShape& shape, const float* x, const float* state)
      : channels(channels_of(shape)),
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

void store_within(float* x, int i, int n, Floats y) {
  if (n - i >= lanes) {
    store(x + i, y);
  } else {
    store(x + i, y, n - i);
  }
}

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

// weight[tap] of sixteen channels. `columns`: how many there are.
template <int taps>
void load_taps(const float* weight, int columns, Floats* tap) {
  float across[taps][lanes] = {};
  for (int c = 0; c < columns; ++c) {
    for (int t = 0; t < taps; ++t) across[t][c] = weight[c * taps + t];
  }
  for (int t = 0; t < taps; ++t) tap[t] = load(across[t]);
}

template <int taps>
void convolve_fixed(const Convolution& op, const Sequence& sequence, const History& history, int first,
                    int end) {
  for (int c = first; c < end; c += lanes) {
    Floats tap[taps], past[taps];
    const int left = history.channels - c;
    load_taps<taps>(op.weight + static_cast<int64_t>(c) * taps, left < lanes ? left : lanes, tap);
    for (int t = 0; t + 1 < taps; ++t) past[t] = history.at(t - history.before, c);
    for (int row = 0; row < sequence.rows; ++row) {
      past[taps - 1] = history.at(row, c);
      Floats sum = broadcast(0.0f);
      for (int t = 0; t < taps; ++t) sum = fma(tap[t], past[t], sum);
      for (int t = 0; t + 1 < taps; ++t) past[t] = past[t + 1];
      store_within(op.out + static_cast<int64_t>(sequence.first_row + row) * history.channels, c,
                   history.channels, silu(sum));
    }
  }
}

// Any number of taps.
void convolve(const Convolution& op, const Sequence& sequence, const History& history, int first, int end) {
  const int taps = op.shape.taps;
  for (int c = first; c < end; c += lanes) {
    for (int row = 0; row < sequence.rows; ++row) {
      Floats sum = broadcast(0.0f);
      for (int t = 0; t < taps; ++t) {
        float tap[lanes] = {};
        for (int i = 0; i < lanes && c + i < history.channels; ++i) {
          tap[i] = op.weight[static_cast<int64_t>(c + i) * taps + t];
        }
        sum = fma(load(tap), history.at(row - history.before + t, c), sum);
      }
      store_within(op.out + static_cast<int64_t>(sequence.first_row + row) * history.channels, c,
                   history.channels, silu(sum));
    }
  }
}

}  // namespace

void convolution(const Convolution& op, Pool& pool) {
  const int channels = channels_of(op.shape), cuts = (channels + channels_of_task - 1) / channels_of_task;
  const bool small = static_cast<int64_t>(op.round.rows) * channels < small_work;
  for_tasks(pool, op.round.sequences * cuts, small, [&](int task) {
    const Sequence& sequence = op.round.sequence[task / cuts];
    const int first = task % cuts * channels_of_task;
    const int end = first + channels_of_task < channels ? first + channels_of_task : channels;
    const History history(sequence, op.shape, op.x, op.state);
    if (op.shape.taps == 4) {
      convolve_fixed<4>(op, sequence, history, first, end);
    } else {
      convolve(op, sequence, history, first, end);
    }
    if (sequence.keep > 0) store_history(history, sequence, sequence.keep, first, end, op.state);
  });
}

void convolution_replay(const ConvolutionReplay& op, Pool& pool) {
  const int channels = channels_of(op.shape);
  for_tasks(pool, op.round.sequences, static_cast<int64_t>(op.round.sequences) * channels < small_work,
            [&](int i) {
              const Sequence& sequence = op.round.sequence[i];
              const History history(sequence, op.shape, op.x, op.state);
              if (sequence.keep > 0) store_history(history, sequence, sequence.keep, 0, channels, op.state);
            });
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
