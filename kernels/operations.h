// The operations: one parameter struct each, shapes beside every pointer.
//
// All pointers are device memory of the Device that is called (for a CPU that is host memory) unless a
// comment says "host". Arrays are dense and row-major; [a][b] gives the shape. Rows of a round belong to
// many requests; a row's result never depends on the other rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::kernels {

inline constexpr int canon_version = 1;
inline constexpr int page_positions = 64;  // positions of one KV page
inline constexpr int span_pages = 4;       // pages of one attention span (256 keys)
inline constexpr int most_candidates = 256;

enum class ScaleType : uint8_t { bf16, fp16, fp32 };

// A weight matrix as checkpoints store it, in host memory. y[o] = sum over i of w[o][i] * x[i].
struct MatrixSource {
  int experts = 1;  // more than one: a stack of matrices, one an expert
  int outputs = 0;
  int inputs = 0;
  int bits = 0;   // 2, 3, 4, 5, 6, 8: codes; 16: bf16 weights, no scales
  int group = 0;  // inputs per scale and bias: 32, 64 or 128; 0 for bf16
  ScaleType scale_type = ScaleType::bf16;
  const void* weights = nullptr;  // codes [experts][outputs][inputs*bits/8 bytes], a little-endian bit
                                  // stream per output (the MLX packing); or bf16 [experts][outputs][inputs]
  const void* scales = nullptr;   // scale_type [experts][outputs][inputs/group]
  const void* biases = nullptr;   // scale_type [experts][outputs][inputs/group]
};

// A matrix packed for one Device, in its memory. Must not outlive the Device.
struct Matrix {
  int experts, outputs, inputs, bits, group;  // of a gate|up pair: outputs of one half
  bool pair;                                  // gate|up, for SwiGlu
  size_t bytes;                               // device memory held
  virtual ~Matrix() = default;

 protected:
  Matrix() = default;
};

// Rows of numbers in the canon's block form: each block of `group` values has one exponent e.
// multiplier = 2^(e-14), NaN when the block is void; sum = float(sum of q) * multiplier.
struct Blocks {
  int8_t* high = nullptr;       // [rows][length]
  int8_t* low = nullptr;        // [rows][length]
  float* multiplier = nullptr;  // [rows][length/group]
  float* sum = nullptr;         // [rows][length/group]; may be null where no linear layer reads it
  int length = 0;
  int group = 0;
};

// The rows of one lane in a round.
struct Sequence {
  int32_t first_row;       // rows [first_row, first_row + rows) of the round
  int32_t rows;            // at least 1
  int32_t first_position;  // absolute position of the first row; 0 starts from empty recurrent state
  int32_t page_table;      // index into Round::pages of this lane's first page
  int32_t state_slot;      // slot of the lane's recurrent state
  int32_t keep;  // rows after which recurrent state is stored: `rows`, or 0 to leave the slot as it was
};

// Who the rows belong to. The arrays hold valid indices for the shapes given to the operation.
struct Round {
  int rows = 0;
  int sequences = 0;
  const Sequence* sequence = nullptr;     // [sequences], in row order, covering all rows
  const int32_t* position = nullptr;      // [rows] absolute position
  const int32_t* row_sequence = nullptr;  // [rows] index into sequence
  const int32_t* pages = nullptr;         // page tables of all lanes, one after the other
  int most_rows = 0;                      // of one sequence
  int most_positions = 0;                 // largest position + 1
};

struct AttentionShape {
  int query_heads, key_heads, head_dim, rotary_dim;
};
struct DeltaShape {
  int key_heads, value_heads, key_dim, value_dim, taps;

  int channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};
// Pages of one attention layer. A page holds keys and values of 64 positions and all key heads; its layout
// is the implementation's own (kv_page_bytes() long), KvRead gives the canonical form.
struct KvPages {
  void* data = nullptr;  // [pages][kv_page_bytes]
  int key_heads = 0;
  int head_dim = 0;
};

// ---- Operations, in the order of a layer -------------------------------------------------------------

struct Embed {  // out = rows of the table, fma(scale, code, bias)
  int rows;
  const int32_t* tokens;  // [rows], each in [0, table->outputs)
  const Matrix* table;    // outputs = vocabulary, inputs = hidden
  float* out;             // [rows][inputs]
};
struct Norm {  // x = x + add when add is given; then RMS norm of x
  int rows, length;
  float* x;             // [rows][length]; written only when add is given
  const float* add;     // [rows][length] or null
  const float* weight;  // [length]
  float eps;
  float* out;  // [rows][out_stride], or null
  int out_stride;
  const Blocks* blocks;  // host struct, or null: blocks of the result
};
struct Quantize {
  int rows;
  const float* x;  // [rows][blocks.length]
  Blocks blocks;
};
struct LinearOutput {
  const Matrix* matrix;
  float* y;    // [rows][stride]
  int stride;  // at least matrix->outputs
};
struct Linear {    // every output from the same input rows
  int rows;        // of the outputs
  Blocks in;       // [rows / rows_per_input]; group must equal each code matrix's group
  const float* x;  // [rows / rows_per_input][inputs] in fp32, for bf16 matrices; null when there are none
  std::span<const LinearOutput> outputs;  // host; 1 to 8 of them
  const int32_t* expert;                  // [rows]: which expert of the stack, or null
  int rows_per_input = 1;                 // output row r reads input row r / rows_per_input
};
struct SwiGlu {  // out = silu(gate) * up, gate and up linear layers of the same input
  int rows;
  Blocks in;
  const float* x;
  const Matrix* gate_up;
  float* out;            // [rows][outputs]
  const Blocks* blocks;  // host struct, or null: blocks of out
  const int32_t* expert;
  int rows_per_input = 1;
};
struct AttentionInputs {  // head norms, rotary, blocks of queries; keys and values into the pages
  Round round;
  AttentionShape shape;
  const float* q_gate;  // [rows][query_heads][2][head_dim]: query, then gate
  const float* k;       // [rows][key_heads][head_dim]
  const float* v;       // [rows][key_heads][head_dim]
  const float* q_norm;  // [head_dim]
  const float* k_norm;  // [head_dim]
  float eps;
  const float* inv_freq;  // [rotary_dim/2]
  Blocks q;               // out: length query_heads*head_dim, group head_dim, no sums
  KvPages kv;
};
struct Attention {
  Round round;
  AttentionShape shape;
  Blocks q;
  const float* q_gate;  // as above; the gates are read
  KvPages kv;
  float scale;           // float(1/sqrt(head_dim))
  float* out;            // [rows][query_heads*head_dim], gated
  const Blocks* blocks;  // host struct, or null
};
struct KvRead {  // stored keys and values in canonical form
  KvPages kv;
  const int32_t* pages;  // [ceil(positions/64)]
  int positions;
  int8_t *k_high, *k_low, *v_high, *v_low;  // [positions][key_heads][head_dim]
  float *k_multiplier, *v_multiplier;       // [positions][key_heads]
};
struct Convolution {  // causal, per channel, then silu
  Round round;
  DeltaShape shape;
  const float* x;       // [rows][channels] raw
  const float* weight;  // [channels][taps], oldest tap first
  float* state;         // [slots][taps-1][channels]: raw inputs before the lane's next row, oldest first
  float* out;           // [rows][channels]
};
struct ConvolutionReplay {  // stores the state after Sequence::keep rows
  Round round;
  DeltaShape shape;
  const float* x;
  float* state;
};
struct DeltaRule {  // l2 norms, recurrence, gated norm
  Round round;
  DeltaShape shape;
  const float* qkv;      // [rows][channels]: queries, keys, values after the convolution
  const float* a;        // [rows][value_heads]
  const float* b;        // [rows][value_heads]
  const float* z;        // [rows][value_heads][value_dim]
  const float* a_log;    // [value_heads]
  const float* dt_bias;  // [value_heads]
  const float* norm;     // [value_dim]
  float eps;
  float* state;          // [slots][value_heads][key_dim][value_dim]
  float* update;         // [rows][value_heads][value_dim]: u of each row, for DeltaReplay; or null
  float* out;            // [rows][value_heads*value_dim]
  const Blocks* blocks;  // host struct, or null
};
struct DeltaReplay {  // stores the state after Sequence::keep rows, from the slot as it was before the round
  Round round;
  DeltaShape shape;
  const float* qkv;
  const float* a;
  const float* a_log;
  const float* dt_bias;
  const float* update;
  float* state;
};
struct Router {
  int rows, experts, top;
  const float* logits;  // [rows][experts]
  int32_t* expert;      // [rows][top]
  float* weight;        // [rows][top]
};
struct CombineExperts {  // y = sum of weight_r * y_r in rank order, then the gated shared expert
  int rows, top, length;
  const float* routed;       // [rows][top][length]
  const float* weight;       // [rows][top]
  const float* shared;       // [rows][length]
  const float* shared_gate;  // [rows], before the sigmoid
  float* out;                // [rows][length]
};
struct Gather {  // out[i] = x[row[i]]
  int rows, length;
  const int32_t* row;  // [rows]
  const float* x;
  float* out;  // [rows][length]
};
struct Candidates {
  int rows, vocabulary, count;  // 1 <= count <= min(vocabulary, most_candidates)
  const float* logits;          // [rows][vocabulary]
  int32_t* id;                  // [rows][count], logit falling, ties id rising
  float* logit;                 // [rows][count]
  float* maximum;               // [rows]
  float* log_sum;               // [rows]: log of sum exp(l - maximum); logprob = (l - maximum) - log_sum
  int32_t* finite;              // [rows]: 1, or 0 when any logit is inf or NaN (then the rest is unspecified)
};

}  // namespace lockstep::kernels
