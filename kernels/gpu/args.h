// What kernels are given: one struct a kernel, filled by the host and copied by value. Pointers are device
// memory; shapes as in operations.h.
#pragma once

#include "kernels/operations.h"

namespace lockstep::kernels::gpu {

// A weight matrix in device memory (layout: weights.h).
struct PackedWeights {
  const uint8_t* data;
  uint64_t expert_bytes, strip_bytes;
  int32_t outputs, inputs, bits, group;  // of a pair: outputs of one half
  int32_t wide;                          // scales and biases are fp32, else bf16
  int32_t halves;                        // 2: strips of gate and up alternate
};

struct PackArgs {
  PackedWeights to;
  int32_t half;  // which half of a pair is written
  int32_t experts, scale_type;
  const uint8_t* weights;  // as in MatrixSource
  const uint8_t *scales, *biases;
};
struct EmbedArgs {
  PackedWeights table;
  const int32_t* tokens;
  float* out;
};
struct NormArgs {
  int32_t length, out_stride;
  float eps;
  float* x;
  const float *add, *weight;
  float* out;
  Blocks blocks;  // high null: none
};
struct QuantizeArgs {
  const float* x;
  Blocks blocks;
  int64_t count;  // of blocks
};
struct CopyRowsArgs {
  int32_t length;
  const int32_t* row;
  const float* x;
  float* out;
};
struct CombineArgs {
  int32_t rows, top, length;
  const float *routed, *weight, *shared, *shared_gate;
  float* out;
};
struct RouterArgs {
  int32_t rows, experts, top;
  const float* logits;
  int32_t* expert;
  float* weight;
};

struct LinearPart {
  PackedWeights weights;
  float* y;
  int32_t stride;
  int32_t first_strip;  // blocks from this x on take strips of this part
};
// Output rows that one expert computes: order[first, first + count) of their numbers.
struct RowGroup {
  int32_t expert, first, count, unused;
};
struct GroupRowsArgs {
  int32_t rows, size;  // rows; most of a group
  const int32_t* expert;
  int32_t* order;  // [rows]: row numbers, those of an expert side by side
  // [rows / size + experts]: those of an expert from (rows of the experts before it) / size + its number on.
  RowGroup* groups;
};
constexpr int most_parts = 8;
struct LinearArgs {
  Blocks in;
  const float* x;
  int32_t rows, rows_per_input, parts, strips;
  int32_t warps;           // of a strip
  int32_t turns;           // whose sums shared memory holds
  const int32_t* expert;   // of each row, of rows in no groups
  const int32_t* order;    // of rows in groups
  const RowGroup* groups;  // a block takes one
  LinearPart part[most_parts];
};

struct AttentionInputsArgs {
  Round round;
  AttentionShape shape;
  const float *q_gate, *k, *v, *q_norm, *k_norm, *inv_freq;
  float eps;
  Blocks q;
  uint8_t* pages;
};
struct KvReadArgs {
  const uint8_t* kv;
  int32_t key_heads, head_dim, positions;
  const int32_t* pages;
  int8_t *k_high, *k_low, *v_high, *v_low;
  float *k_multiplier, *v_multiplier;
};
struct AttentionArgs {
  Round round;
  AttentionShape shape;
  Blocks q;
  const float* q_gate;
  const uint8_t* pages;
  float scale;
  int32_t first_row, end_row, spans;  // rows of this launch; spans of the longest
  float* partial;                     // [rows][query_heads][spans][head_dim + 2]: o, m, l
  float* out;
};

struct ConvolutionArgs {
  Round round;
  int32_t channels, taps;
  const float *x, *weight;
  float *state, *out;  // out null: only the state is stored
};
struct DeltaArgs {
  Round round;
  DeltaShape shape;
  const float *qkv, *a, *b, *z, *a_log, *dt_bias, *norm;
  float eps, q_scale;
  float* state;
  float* update;  // of a replay: read
  float* out;
  Blocks blocks;  // high null: none
};

struct CandidatesArgs {
  int32_t vocabulary, count;
  const float* logits;
  int32_t* id;
  float *logit, *maximum, *log_sum;
  int32_t* finite;
};

}  // namespace lockstep::kernels::gpu
