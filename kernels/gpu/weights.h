// How weights lie in device memory, and reading them.
//
// Outputs are cut into strips of 32 (of a pair, strips of gate and up alternate), a strip into units of 64
// inputs, or 128 for groups of 128. A unit is its codes, then its scales and biases.
//
// Codes of a unit: for each 64 inputs, for each of two tiles of 16 outputs, planes of 4, 2 and 1 bits as the
// width needs them (8 bits: one plane of whole bytes), low bits first. A tile is two steps of 32 inputs; of a
// step each lane holds 16 codes, those that tiles.h says (a_row, a_k, input_of_step), byte b in word b/4:
//   8 bits  [step][lane] 16 bytes
//   4 bits  [lane] 16 bytes: of each step two words, the first with words 0 and 1 in its low and high nibbles
//   2 bits  [lane] 8 bytes: of each step a word, word i in bits 2i
//   1 bit   [lane] 4 bytes: word i of step s in bit 4s + i of each byte
// Scales of a unit: for each group (scale, bias) pairs of 32 outputs, bf16 or fp32, those of one lane's rows
// side by side.
//
// bf16 weights: a strip is [inputs][32 outputs]. Outputs past the last are zeros.
#pragma once

#include "kernels/device/tiles.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/layout.h"

namespace lockstep::kernels::gpu {

// Index of a pair among the 32 of a group.
DEVICE_FUNCTION int scale_at(int output) {
  const int row = output % tile_rows;
  return (row_chunk_of(row) * strip_tiles + output / tile_rows) * lane_tile_rows + row_index_of(row);
}

DEVICE_FUNCTION float low_bf16(uint32_t pair) { return canon::float_of(pair << 16); }
DEVICE_FUNCTION float high_bf16(uint32_t pair) { return canon::float_of(pair & 0xffff0000u); }

// The codes of one tile over 64 inputs that a lane holds.
template <int bits>
struct TileCodes {
  uint32_t word[bits];  // planes one after the other

  DEVICE_METHOD void load(const uint8_t* tile, int lane) {
    int at = 0;
    if constexpr (bits == 8) {
      UNROLL for (int step = 0; step < 2; ++step) {
        const Quad q = reinterpret_cast<const Quad*>(tile)[step * 32 + lane];
        UNROLL for (int i = 0; i < 4; ++i) word[step * 4 + i] = q.word[i];
      }
      return;
    }
    if constexpr ((bits & 4) != 0) {
      const Quad q = reinterpret_cast<const Quad*>(tile)[lane];
      UNROLL for (int i = 0; i < 4; ++i) word[i] = q.word[i];
      tile += 512;
      at = 4;
    }
    if constexpr ((bits & 2) != 0) {
      const Duo d = reinterpret_cast<const Duo*>(tile)[lane];
      word[at] = d.word[0];
      word[at + 1] = d.word[1];
      tile += 256;
      at += 2;
    }
    if constexpr ((bits & 1) != 0) word[at] = reinterpret_cast<const uint32_t*>(tile)[lane];
  }

  // The 16 codes of a step, one a byte.
  DEVICE_METHOD Quad step(int s) const {
    Quad q;
    UNROLL for (int i = 0; i < 4; ++i) {
      if constexpr (bits == 8) {
        q.word[i] = word[s * 4 + i];
        continue;
      }
      uint32_t code = 0;
      if constexpr ((bits & 4) != 0) code = (word[s * 2 + i / 2] >> (i % 2 * 4)) & 0x0f0f0f0fu;
      constexpr int after4 = bits & 4;
      if constexpr ((bits & 2) != 0) code |= ((word[after4 + s] >> (2 * i)) & 0x03030303u) << after4;
      if constexpr ((bits & 1) != 0) {
        code |= ((word[(bits & 6)] >> (4 * s + i)) & 0x01010101u) << (bits & 6);
      }
      q.word[i] = code;
    }
    return q;
  }
};

}  // namespace lockstep::kernels::gpu
