// Routing to experts and joining their outputs (canon.md, "Experts"). Included by rows_*.cpp.
#pragma once

#include "kernels/cpu/row_blocks.inl"
#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

// Integers in the order of the logits: NaN above every number, both zeros alike.
Ints rank_key(Floats x) {
  const Ints b = bits_of(x + broadcast(0.0f)), most = broadcast(INT32_MAX);
  const Ints flipped = select(broadcast(int32_t{0}) > b, broadcast(INT32_MIN) - b, b);
  return select(is_nan(x), most, flipped);
}

// The key and the index of the largest key; the lower index of equals. `keys` holds whole vectors.
int best_of(const int32_t* keys, int padded_count) {
  Ints best = load(keys), where = broadcast(int32_t{0});
  for (int i = lanes; i < padded_count; i += lanes) {
    const Ints k = load(keys + i);
    const Mask better = k > best;
    best = select(better, k, best);
    where = select(better, broadcast(i), where);
  }
  int32_t key[lanes], at[lanes];
  store(key, best);
  store(at, where);
  int found = 0;
  for (int lane = 1; lane < lanes; ++lane) {
    const bool before = at[lane] + lane < at[found] + found;
    if (key[lane] > key[found] || (key[lane] == key[found] && before)) found = lane;
  }
  return at[found] + found;
}

void route_row(const Router& op, int row) {
  const int whole = (op.experts + lanes - 1) / lanes * lanes;
  auto* keys = static_cast<int32_t*>(task_scratch(padded<int32_t>(static_cast<size_t>(whole))));
  const float* logits = op.logits + static_cast<int64_t>(row) * op.experts;
  int32_t* expert = op.expert + static_cast<int64_t>(row) * op.top;
  float* weight = op.weight + static_cast<int64_t>(row) * op.top;
  for (int i = 0; i < whole; i += lanes) {
    const Mask real = first_lanes(op.experts - i);
    store(keys + i, select(real, rank_key(load_within(logits, i, op.experts)), broadcast(INT32_MIN)));
  }
  float sum = 0.0f;
  for (int rank = 0; rank < op.top; ++rank) {
    const int best = best_of(keys, whole);
    keys[best] = INT32_MIN;  // below every key
    expert[rank] = best;
    weight[rank] = canon::exp(logits[best] - logits[expert[0]]);
    sum = sum + weight[rank];
  }
  for (int rank = 0; rank < op.top; ++rank) weight[rank] = weight[rank] / sum;
}

// Columns [first, first + 16) or fewer, to op.length.
void combine_columns(const CombineExperts& op, int row, int first, float shared_weight) {
  const float* weight = op.weight + static_cast<int64_t>(row) * op.top;
  const float* routed = op.routed + static_cast<int64_t>(row) * op.top * op.length;
  Floats y = broadcast(0.0f);
  for (int rank = 0; rank < op.top; ++rank) {
    y = fma(broadcast(weight[rank]),
            load_within(routed + static_cast<int64_t>(rank) * op.length, first, op.length), y);
  }
  y = fma(broadcast(shared_weight),
          load_within(op.shared + static_cast<int64_t>(row) * op.length, first, op.length), y);
  store_within(op.out + static_cast<int64_t>(row) * op.length, first, op.length, y);
}

}  // namespace

void router(const Router& op, Pool& pool) {
  const bool small = static_cast<int64_t>(op.rows) * op.experts * op.top < 4 * small_work;
  for_tasks(pool, op.rows, small, [&](int row) { route_row(op, row); });
}

void combine_experts(const CombineExperts& op, Pool& pool) {
  const bool small = static_cast<int64_t>(op.rows) * op.length * (op.top + 1) < 2 * small_work;
  for_tasks(pool, op.rows, small, [&](int row) {
    const float shared_weight = canon::sigmoid(op.shared_gate[row]);
    for (int i = 0; i < op.length; i += lanes) combine_columns(op, row, i, shared_weight);
  });
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
