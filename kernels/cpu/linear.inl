// The linear kernels and operations of one instruction set. Included by linear_avx2.cpp and
// linear_avx512.cpp.

#include "kernels/cpu/row_blocks.inl"
// Both use its words.
#include "kernels/cpu/linear_few.inl"
#include "kernels/cpu/linear_many.inl"

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

void swiglu_row(const float* both, float* out, int n) {
  for (int i = 0; i < n; i += lanes)
    store_within(out, i, n, silu(load(both + 2 * i)) * load(both + 2 * i + lanes));
}

constexpr LinearKernels kernels{few, many, swiglu_row, write_blocks, few_tiles, many_from, word_tiles};

}  // namespace

void linear(const Linear& op, Pool& pool) { cpu::linear(op, kernels, pool); }
void swiglu(const SwiGlu& op, Pool& pool) { cpu::swiglu(op, kernels, pool); }
void quantize(const Quantize& op, Pool& pool) { cpu::quantize(op, kernels, pool); }

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
