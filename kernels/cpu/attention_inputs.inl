// Head norms, rotary positions and blocks of queries, keys and values; and the pages read back in canonical
// form. Included by attention_*.cpp.
#pragma once

#include "kernels/canon/rotary.h"
#include "kernels/cpu/kv_layout.h"
#include "kernels/cpu/row_blocks.inl"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

// cos and sin of one position, [rotary_dim/2] each.
struct Angles {
  float cosine[most_head_dim / 2], sine[most_head_dim / 2];
};

void make_angles(const AttentionInputs& op, int32_t position, Angles& angles) {
  const int half = op.shape.rotary_dim / 2;
  for (int i = 0; i < half; i += lanes) {
    const int n = half - i < lanes ? half - i : lanes;
    float angle[lanes];
    for (int j = 0; j < n; ++j) angle[j] = canon::rotary_angle(position, op.inv_freq[i + j]);
    sin_cos(angle, angles.sine + i, angles.cosine + i, n);
  }
}

// RMS norm of one head, then rotary on its first part.
void prepare_head(const AttentionInputs& op, const float* x, const float* weight, const Angles& angles,
                  float* out) {
  const int dim = op.shape.head_dim, half = op.shape.rotary_dim / 2;
  const float ss = sum_of_squares(x, dim);
  const Floats r = broadcast(canon::inverse_root(ss / static_cast<float>(dim) + op.eps));
  for (int i = 0; i < dim; i += lanes) store(out + i, (load(x + i) * r) * load(weight + i));
  for (int i = 0; i < half; i += lanes) {
    const int n = half - i < lanes ? half - i : lanes;
    const Floats a = load(out + i, n), b = load(out + half + i, n);
    const Floats c = load(angles.cosine + i, n), s = load(angles.sine + i, n);
    store(out + i, a * c - b * s, n);
    store(out + half + i, b * c + a * s, n);
  }
}

// q of one head's block: its two bytes joined.
struct Head {
  int8_t high[most_head_dim], low[most_head_dim];
  Ints q(int d) const { return shift_left<8>(load_bytes(high + d)) + load_bytes(low + d); }
};

void store_key(const Head& head, int dim, int slot, int16_t* keys) {
  int16_t q[most_head_dim];
  for (int d = 0; d < dim; d += lanes) store_words(q + d, head.q(d));
  for (int d = 0; d < dim; d += 2) __builtin_memcpy(keys + key_at(dim, slot, d), q + d, 2 * sizeof *q);
}
void store_value(const Head& head, int dim, int slot, int16_t* values) {
  for (int d = 0; d < dim; d += lanes)
    store_every_second(values + value_at(slot & ~1, d), slot & 1, head.q(d));
}

void run_row(const AttentionInputs& op, int row) {
  const AttentionShape& shape = op.shape;
  const Sequence& sequence = op.round.sequence[op.round.row_sequence[row]];
  const int dim = shape.head_dim, position = op.round.position[row], slot = position % page_positions;
  const int page = op.round.pages[sequence.page_table + position / page_positions];
  Angles angles;
  make_angles(op, position, angles);
  float x[most_head_dim];
  for (int h = 0; h < shape.query_heads; ++h) {
    const int64_t block = static_cast<int64_t>(row) * shape.query_heads + h;
    prepare_head(op, op.q_gate + block * 2 * dim, op.q_norm, angles, x);
    op.q.multiplier[block] = make_block(x, dim, op.q.high + block * dim, op.q.low + block * dim,
                                        op.q.sum ? op.q.sum + block : nullptr);
  }
  Head head;
  for (int h = 0; h < shape.key_heads; ++h) {
    const int64_t input = (static_cast<int64_t>(row) * shape.key_heads + h) * dim;
    const KvHead kv = kv_head(op.kv, page, h);
    prepare_head(op, op.k + input, op.k_norm, angles, x);
    kv.key_multiplier[slot] = make_block(x, dim, head.high, head.low, nullptr);
    store_key(head, dim, slot, kv.keys);
    kv.value_multiplier[slot] = make_block(op.v + input, dim, head.high, head.low, nullptr);
    store_value(head, dim, slot, kv.values);
  }
}

// Values of positions 2n and 2n+1 share their words of memory, so such rows of a sequence go to one task: the
// first row of a task that begins at `row`.
int task_start(const Round& round, int row) {
  if (row <= 0 || row >= round.rows) return row < 0 ? 0 : row > round.rows ? round.rows : row;
  const bool odd = round.position[row] % 2 != 0;
  return odd && round.row_sequence[row] == round.row_sequence[row - 1] ? row + 1 : row;
}

// Position `position` of one head as canonical bytes.
void read_position(const KvRead& op, int position, int head) {
  const int dim = op.kv.head_dim, slot = position % page_positions;
  const KvHead kv = kv_head(op.kv, op.pages[position / page_positions], head);
  const int64_t block = static_cast<int64_t>(position) * op.kv.key_heads + head;
  op.k_multiplier[block] = kv.key_multiplier[slot];
  op.v_multiplier[block] = kv.value_multiplier[slot];
  for (int d = 0; d < dim; ++d) {
    const int16_t k = kv.keys[key_at(dim, slot, d & ~1) + static_cast<size_t>(d & 1)];
    const int16_t v = kv.values[value_at(slot, d & ~15) + static_cast<size_t>(d & 15) * 2];
    op.k_high[block * dim + d] = static_cast<int8_t>((k + 128) >> 8);
    op.k_low[block * dim + d] = static_cast<int8_t>(k);
    op.v_high[block * dim + d] = static_cast<int8_t>((v + 128) >> 8);
    op.v_low[block * dim + d] = static_cast<int8_t>(v);
  }
}

}  // namespace

void attention_inputs(const AttentionInputs& op, Pool& pool) {
  constexpr int rows = 4;
  const AttentionShape& s = op.shape;
  const int64_t numbers =
      static_cast<int64_t>(op.round.rows) * (s.query_heads + 2 * s.key_heads) * s.head_dim;
  for_tasks(pool, (op.round.rows + rows - 1) / rows, numbers < small_work, [&](int task) {
    const int end = task_start(op.round, (task + 1) * rows);
    for (int row = task_start(op.round, task * rows); row < end; ++row) run_row(op, row);
  });
}

void kv_read(const KvRead& op, Pool& pool) {
  const int heads = op.kv.key_heads;
  for_tasks(pool, op.positions, static_cast<int64_t>(op.positions) * heads * op.kv.head_dim < small_work,
            [&](int position) {
              for (int head = 0; head < heads; ++head) read_position(op, position, head);
            });
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
