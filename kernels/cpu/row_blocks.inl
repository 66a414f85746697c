// What the operations share: blocks of a row, and running tasks. Included after vector_avx2.h or
// vector_avx512.h.
#pragma once

#include "kernels/cpu/pool.h"
#include "kernels/cpu/vector_math.inl"
#include "kernels/operations.h"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

// f(task) for each task; on the calling thread alone when the work is too little to wake others for.
template <class F>
inline void for_tasks(Pool& pool, int tasks, bool small, const F& f) {
  if (!small) return pool.run(tasks, f);
  for (int task = 0; task < tasks; ++task) f(task);
}

// Numbers that one thread handles in about the time that sharing them out takes.
inline constexpr int64_t small_work = 16384;

// Blocks of numbers [first, first + length) of a row; x is the whole row. Whole blocks.
inline void write_blocks(const Blocks& blocks, int row, int first, int length, const float* x) {
  const int64_t start = static_cast<int64_t>(row) * blocks.length;
  for (int i = first; i < first + length; i += blocks.group) {
    const int64_t at = start + i, block = at / blocks.group;
    blocks.multiplier[block] = make_block(x + i, blocks.group, blocks.high + at, blocks.low + at,
                                          blocks.sum ? blocks.sum + block : nullptr);
  }
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
