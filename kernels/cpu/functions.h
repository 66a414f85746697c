// The operations of the CPU, one table an instruction set.
//
// A source file named *_avx2.cpp or *_avx512.cpp is compiled for that instruction set and may hold nothing
// that another file could be linked to by accident: its own functions live in namespace cpu::avx2 or
// cpu::avx512, or in an unnamed namespace, and inline functions of shared headers must be inlined there.
#pragma once

#include <cstddef>

#include "kernels/cpu/pool.h"
#include "kernels/operations.h"

namespace lockstep::kernels::cpu {

struct Functions {
  size_t (*kv_page_bytes)(int key_heads, int head_dim) = nullptr;
  void (*embed)(const Embed&, Pool&) = nullptr;
  void (*norm)(const Norm&, Pool&) = nullptr;
  void (*quantize)(const Quantize&, Pool&) = nullptr;
  void (*linear)(const Linear&, Pool&) = nullptr;
  void (*swiglu)(const SwiGlu&, Pool&) = nullptr;
  void (*attention_inputs)(const AttentionInputs&, Pool&) = nullptr;
  void (*attention)(const Attention&, Pool&) = nullptr;
  void (*kv_read)(const KvRead&, Pool&) = nullptr;
  void (*convolution)(const Convolution&, Pool&) = nullptr;
  void (*convolution_replay)(const ConvolutionReplay&, Pool&) = nullptr;
  void (*delta_rule)(const DeltaRule&, Pool&) = nullptr;
  void (*delta_replay)(const DeltaReplay&, Pool&) = nullptr;
  void (*router)(const Router&, Pool&) = nullptr;
  void (*combine_experts)(const CombineExperts&, Pool&) = nullptr;
  void (*gather)(const Gather&, Pool&) = nullptr;
  void (*candidates)(const Candidates&, Pool&) = nullptr;
  void (*scaled_exp)(const float* x, int n, float maximum, float temperature, float* out) = nullptr;
};

const Functions& functions_avx2();
const Functions& functions_avx512();

}  // namespace lockstep::kernels::cpu
