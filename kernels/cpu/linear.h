// Linear layers on the CPU: what the operations (linear.cpp) ask of each instruction set's kernels.
#pragma once

#include <cstdint>

#include "kernels/cpu/matrix.h"
#include "kernels/cpu/pool.h"
#include "kernels/operations.h"

namespace lockstep::kernels::cpu {

// A row of inputs: blocks for matrices of codes, x for bf16 matrices.
struct InputRow {
  const int8_t* high;
  const int8_t* low;
  const float* multiplier;
  const float* sum;
  const float* x;
};

// Tiles [first, first + count) of one expert, for some rows.
struct TileRun {
  const PackedMatrix* matrix;
  const uint8_t* tile;  // the first
  int count;
  int outputs;  // written to each y: at most 16*count
};

struct LinearKernels {
  // y[r][0..outputs) for each row. Weights come from memory once, from the cache for every few rows.
  void (*few)(const TileRun&, const InputRow* row, float* const* y, int rows);
  // The same for at most most_rows rows; unpacks weights once for all of them. Not for bf16.
  void (*many)(const TileRun&, const InputRow* row, float* const* y, int rows);
  // out[i] = silu(gate) * up for one row: `both` alternates 16 gates and 16 ups. Writes n outputs.
  void (*swiglu)(const float* both, float* out, int n);
  // Blocks of numbers [first, first + n) of a row, a multiple of the group; x is the whole row.
  void (*blocks)(const Blocks&, int row, int first, int n, const float* x);
  int few_together;   // tiles that `few` works on at a time
  int many_from;      // rows from which `many` is the quicker one
  int many_together;  // tiles that `many` works on at a time
};
// Of one call of `many`.
inline constexpr int most_rows = 96;
inline constexpr int most_tiles = 16;

void linear(const Linear&, const LinearKernels&, Pool&);
void swiglu(const SwiGlu&, const LinearKernels&, Pool&);
void quantize(const Quantize&, const LinearKernels&, Pool&);

}  // namespace lockstep::kernels::cpu
