// A weight matrix as the CPU operations read it; both instruction sets share the form.
//
// Outputs are cut into tiles of 16; a tile is one run of bytes, read from start to end. Of a gate|up pair,
// gate and up tiles alternate. Outputs past the last are zeros.
//
// Codes: a tile is a sequence of groups; a group is its codes, then 16 scales and 16 biases as the checkpoint
// has them. Codes come in chunks of 32 inputs, 64*bits bytes. A *unit* is 4 inputs of 16 outputs, one byte a
// code: byte 4*o + j is output o, input 4*u + j. A chunk has units u = 0 to 7, stored as vectors of 64 bytes:
//   8 bits  8 vectors, each a unit
//   4 bits  4 vectors; vector v has unit 2v in its low and unit 2v+1 in its high nibbles
//   2 bits  2 vectors; vector v has units 4v to 4v+3, lowest bits first
//   6 bits  the low 4 bits as for 4 bits, then the high 2 bits as for 2 bits
//   5 bits  the low 4 bits as for 4 bits, then one vector: bit u has the high bit of unit u
//   3 bits  the low 2 bits as for 2 bits, then one vector: bit u has the high bit of unit u
//
// bf16: a tile is a sequence of vectors of 2 inputs of 16 outputs: dword o has input 2k of output o in its
// low half, input 2k+1 in its high half (zero past the last input).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cpu/memory.h"
#include "kernels/operations.h"

namespace lockstep::kernels::cpu {

class Pool;

inline constexpr int tile_outputs = 16;
inline constexpr int chunk_inputs = 32;
inline constexpr int segment_inputs = 256;  // of the canon

struct PackedMatrix final : Matrix {
  ScaleType scale_type = ScaleType::bf16;
  int tiles = 0;           // of one expert; of a pair, both halves together
  size_t group_bytes = 0;  // codes, scales and biases of one group of a tile; of bf16, one vector
  size_t tile_bytes = 0;
  Memory memory;  // [experts][tiles][tile_bytes]

  const uint8_t* tile(int expert, int index) const {
    return memory.data() +
           (static_cast<size_t>(expert) * static_cast<size_t>(tiles) + static_cast<size_t>(index)) *
               tile_bytes;
  }
};

// up: null, or the second half of a pair. Throws DeviceError for shapes the canon has no meaning for,
// OutOfMemory.
std::unique_ptr<PackedMatrix> pack_matrix(const MatrixSource& source, const MatrixSource* up, Pool& pool);

}  // namespace lockstep::kernels::cpu
