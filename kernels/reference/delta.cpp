// Linear attention: causal convolution and the gated delta rule (canon.md, "Gated delta rule").
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/canon/fold.h"
#include "kernels/canon/math.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels {

namespace {

// The raw inputs of one channel around a sequence: the state's taps-1 numbers, then its rows.
class ChannelHistory {
 public:
  ChannelHistory(const Sequence& sequence, const DeltaShape& shape, const float* x, const float* state)
      : channels_(shape.channels()),
        before_(shape.taps - 1),
        x_(x + sequence.first_row * channels_),
        state_(sequence.first_position == 0 ? nullptr : state + sequence.state_slot * before_ * channels_) {}

  // Input t rows after the sequence's first, t >= 1 - taps.
  float at(ptrdiff_t t, ptrdiff_t channel) const {
    if (t >= 0) return x_[t * channels_ + channel];
    return state_ ? state_[(before_ + t) * channels_ + channel] : 0.0f;
  }

 private:
  ptrdiff_t channels_, before_;
  const float *x_, *state_;
};

// The state after `rows` rows: the last taps-1 raw inputs.
void store_history(const Sequence& sequence, const DeltaShape& shape, const float* x, int32_t rows,
                   float* state) {
  const ptrdiff_t channels = shape.channels(), before = shape.taps - 1;
  const ChannelHistory history(sequence, shape, x, state);
  std::vector<float> next(static_cast<size_t>(before * channels));
  for (ptrdiff_t t = 0; t < before; ++t) {
    for (ptrdiff_t c = 0; c < channels; ++c) {
      next[static_cast<size_t>(t * channels + c)] = history.at(rows - before + t, c);
    }
  }
  std::copy(next.begin(), next.end(), state + sequence.state_slot * before * channels);
}

// One value head's state S[key_dim][value_dim] and what is done to it.
class HeadState {
 public:
  HeadState(const DeltaShape& shape, const Sequence& sequence, int head, const float* state)
      : dk_(static_cast<size_t>(shape.key_dim)),
        dv_(static_cast<size_t>(shape.value_dim)),
        s_(dk_ * dv_, 0.0f) {
    offset_ = (static_cast<size_t>(sequence.state_slot) * static_cast<size_t>(shape.value_heads) +
               static_cast<size_t>(head)) *
              s_.size();
    if (sequence.first_position != 0) std::memcpy(s_.data(), state + offset_, s_.size() * sizeof(float));
  }
  void store(float* state) const { std::memcpy(state + offset_, s_.data(), s_.size() * sizeof(float)); }

  void decay(float factor) {
    for (float& s : s_) s = s * factor;
  }
  // dots[j] = sum over i of S_ij * x_i, in 4 strands.
  void dot(const float* x, float* dots) {
    strands_.assign(4 * dv_, 0.0f);
    for (size_t i = 0; i < dk_; ++i) {
      float* strand = &strands_[(i % 4) * dv_];
      for (size_t j = 0; j < dv_; ++j) strand[j] = canon::fma(s_[i * dv_ + j], x[i], strand[j]);
    }
    const float* s = strands_.data();
    for (size_t j = 0; j < dv_; ++j) dots[j] = (s[j] + s[dv_ + j]) + (s[2 * dv_ + j] + s[3 * dv_ + j]);
  }
  void add(const float* k, const float* u) {
    for (size_t i = 0; i < dk_; ++i) {
      for (size_t j = 0; j < dv_; ++j) s_[i * dv_ + j] = canon::fma(k[i], u[j], s_[i * dv_ + j]);
    }
  }

 private:
  size_t dk_, dv_, offset_;
  std::vector<float> s_, strands_;
};

// x * 1/sqrt(ss + 1e-6)
void l2_normalize(const float* x, int n, float* out) {
  const float r = canon::inverse_root(canon::sum_of_squares(x, n) + 1e-6f);
  for (int i = 0; i < n; ++i) out[i] = x[i] * r;
}

float decay_of(float a, float a_log, float dt_bias) {
  return canon::exp(-(canon::exp(a_log) * canon::softplus(a + dt_bias)));
}

// Where one row's parts for one value head are.
struct HeadRow {
  HeadRow(const DeltaShape& s, const float* qkv, ptrdiff_t row, int head) {
    const float* channels = qkv + row * s.channels();
    const int key_head = head / (s.value_heads / s.key_heads);
    q = channels + static_cast<ptrdiff_t>(key_head) * s.key_dim;
    k = q + static_cast<ptrdiff_t>(s.key_heads) * s.key_dim;
    v = channels + 2 * static_cast<ptrdiff_t>(s.key_heads) * s.key_dim +
        static_cast<ptrdiff_t>(head) * s.value_dim;
    at = row * s.value_heads + head;
  }
  const float *q, *k, *v;
  ptrdiff_t at;  // index into [rows][value_heads]
};

void run_head(const DeltaRule& op, const Sequence& sequence, int head) {
  const DeltaShape& shape = op.shape;
  const int dk = shape.key_dim, dv = shape.value_dim;
  const float q_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dk)));
  std::vector<float> q(static_cast<size_t>(dk)), k(q), u(static_cast<size_t>(dv)), o(u);
  HeadState state(shape, sequence, head, op.state);
  for (int32_t t = 0; t < sequence.rows; ++t) {
    const HeadRow row(shape, op.qkv, sequence.first_row + t, head);
    l2_normalize(row.k, dk, k.data());
    l2_normalize(row.q, dk, q.data());
    for (float& x : q) x = x * q_scale;
    const float beta = canon::sigmoid(op.b[row.at]);
    state.decay(decay_of(op.a[row.at], op.a_log[head], op.dt_bias[head]));
    state.dot(k.data(), u.data());
    for (int j = 0; j < dv; ++j) {
      const size_t at = static_cast<size_t>(j);
      u[at] = beta * (row.v[j] - u[at]);
    }
    state.add(k.data(), u.data());
    state.dot(q.data(), o.data());
    if (op.update) std::memcpy(op.update + row.at * dv, u.data(), u.size() * sizeof(float));
    const float ss = canon::sum_of_squares(o.data(), dv);
    const float r = canon::inverse_root(ss / static_cast<float>(dv) + op.eps);
    const float* z = op.z + row.at * dv;
    float* out = op.out + row.at * dv;
    for (int j = 0; j < dv; ++j) {
      out[j] = ((o[static_cast<size_t>(j)] * r) * op.norm[j]) * canon::silu(z[j]);
    }
  }
  if (sequence.keep > 0) state.store(op.state);
}

}  // namespace

void ReferenceDevice::run(const Convolution& op) {
  const ptrdiff_t channels = op.shape.channels(), before = op.shape.taps - 1;
  for (int s = 0; s < op.round.sequences; ++s) {
    const Sequence& sequence = op.round.sequence[s];
    const ChannelHistory history(sequence, op.shape, op.x, op.state);
    for (int32_t t = 0; t < sequence.rows; ++t) {
      for (ptrdiff_t c = 0; c < channels; ++c) {
        float sum = 0.0f;
        for (ptrdiff_t tap = 0; tap <= before; ++tap) {
          sum = canon::fma(op.weight[c * op.shape.taps + tap], history.at(t - before + tap, c), sum);
        }
        op.out[(sequence.first_row + t) * channels + c] = canon::silu(sum);
      }
    }
    if (sequence.keep > 0) store_history(sequence, op.shape, op.x, sequence.keep, op.state);
  }
}

void ReferenceDevice::run(const ConvolutionReplay& op) {
  for (int s = 0; s < op.round.sequences; ++s) {
    const Sequence& sequence = op.round.sequence[s];
    if (sequence.keep > 0) store_history(sequence, op.shape, op.x, sequence.keep, op.state);
  }
}

void ReferenceDevice::run(const DeltaRule& op) {
  for (int s = 0; s < op.round.sequences; ++s) {
    for (int head = 0; head < op.shape.value_heads; ++head) run_head(op, op.round.sequence[s], head);
  }
  if (!op.blocks) return;
  const ptrdiff_t length = static_cast<ptrdiff_t>(op.shape.value_heads) * op.shape.value_dim;
  for (int row = 0; row < op.round.rows; ++row) write_blocks(*op.blocks, row, op.out + row * length);
}

void ReferenceDevice::run(const DeltaReplay& op) {
  std::vector<float> k(static_cast<size_t>(op.shape.key_dim));
  for (int s = 0; s < op.round.sequences; ++s) {
    const Sequence& sequence = op.round.sequence[s];
    if (sequence.keep == 0) continue;
    for (int head = 0; head < op.shape.value_heads; ++head) {
      HeadState state(op.shape, sequence, head, op.state);
      for (int32_t t = 0; t < sequence.keep; ++t) {
        const HeadRow row(op.shape, op.qkv, sequence.first_row + t, head);
        l2_normalize(row.k, op.shape.key_dim, k.data());
        state.decay(decay_of(op.a[row.at], op.a_log[head], op.dt_bias[head]));
        state.add(k.data(), op.update + row.at * op.shape.value_dim);
      }
      state.store(op.state);
    }
  }
}

}  // namespace lockstep::kernels
