// RMS norm of rows, with the addition before it and the blocks after it. Included by rows_*.cpp.
#pragma once

#include "kernels/cpu/row_blocks.inl"
#include "kernels/cpu/scratch.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

// x += add where add is given, and the sum of squares of the new x.
float add_and_square(float* x, const float* add, int n) {
  if (!add) return sum_of_squares(x, n);
  Floats strand[2] = {broadcast(0.0f), broadcast(0.0f)};
  for (int i = 0; i < n; i += 2 * lanes) {
    for (int half = 0; half < 2; ++half) {
      const int at = i + half * lanes;
      if (at >= n) break;
      const Floats y = load_within(x, at, n) + load_within(add, at, n);
      store_within(x, at, n, y);
      strand[half] = fma(y, y, strand[half]);
    }
  }
  return fold(strand[0], strand[1]);
}

void norm_row(const Norm& op, int row) {
  const int n = op.length;
  float* x = op.x + static_cast<int64_t>(row) * n;
  const float ss = add_and_square(x, op.add ? op.add + static_cast<int64_t>(row) * n : nullptr, n);
  const Floats r = broadcast(canon::inverse_root(ss / static_cast<float>(n) + op.eps));
  float* out = op.out ? op.out + static_cast<int64_t>(row) * op.out_stride
                      : static_cast<float*>(task_scratch(padded<float>(static_cast<size_t>(n))));
  int i = 0;
  for (; i + lanes <= n; i += lanes) store(out + i, (load(x + i) * r) * load(op.weight + i));
  if (i < n) store(out + i, (load(x + i, n - i) * r) * load(op.weight + i, n - i), n - i);
  if (op.blocks) write_blocks(*op.blocks, row, 0, n, out);
}

}  // namespace

void norm(const Norm& op, Pool& pool) {
  const bool small = static_cast<int64_t>(op.rows) * op.length < 2 * small_work;
  for_tasks(pool, op.rows, small, [&](int row) { norm_row(op, row); });
}

void gather(const Gather& op, Pool& pool) {
  const bool small = static_cast<int64_t>(op.rows) * op.length < 2 * small_work;
  const size_t bytes = static_cast<size_t>(op.length) * sizeof(float);
  for_tasks(pool, op.rows, small, [&](int i) {
    __builtin_memcpy(op.out + static_cast<int64_t>(i) * op.length,
                     op.x + static_cast<int64_t>(op.row[i]) * op.length, bytes);
  });
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
