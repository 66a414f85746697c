// Where a number of a KV page lies. A page holds, for each key head:
//   keys    int16 [4 tiles of 16 positions][head_dim/2][16 positions][2 dimensions]
//   values  int16 [head_dim/16 tiles][32 pairs of positions][16 dimensions][2 positions]
//   multiplier of the keys, then of the values, float [64]
// A number is the block's q itself; a tile is what one vector of 16 lanes meets in a dot product: lane = key
// for scores, lane = dimension for values, and two numbers of the other kind side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/limits.h"
#include "kernels/operations.h"

namespace lockstep::kernels::cpu {

struct KvHead {
  int16_t* keys;
  int16_t* values;
  float* key_multiplier;
  float* value_multiplier;
};

[[gnu::always_inline]] constexpr size_t kv_head_bytes(int head_dim) {
  return static_cast<size_t>(page_positions) *
         (2 * sizeof(int16_t) * static_cast<size_t>(head_dim) + 2 * sizeof(float));
}

[[gnu::always_inline]] inline KvHead kv_head(const KvPages& kv, int page, int head) {
  const size_t index =
      static_cast<size_t>(page) * static_cast<size_t>(kv.key_heads) + static_cast<size_t>(head);
  char* base = static_cast<char*>(kv.data) + index * kv_head_bytes(kv.head_dim);
  const size_t numbers = static_cast<size_t>(page_positions) * static_cast<size_t>(kv.head_dim);
  auto* keys = reinterpret_cast<int16_t*>(base);
  auto* multipliers = reinterpret_cast<float*>(keys + 2 * numbers);
  return {keys, keys + numbers, multipliers, multipliers + page_positions};
}

// Dimensions d and d+1 (d even) of one position's key lie side by side at:
[[gnu::always_inline]] inline size_t key_at(int head_dim, int slot, int d) {
  return static_cast<size_t>(slot / 16 * 16 * head_dim + d * 16 + slot % 16 * 2);
}
// Sixteen dimensions, d a multiple of 16, of one position's value lie at every second number from:
[[gnu::always_inline]] inline size_t value_at(int slot, int d) {
  return static_cast<size_t>(d * page_positions + slot / 2 * 32 + slot % 2);
}

}  // namespace lockstep::kernels::cpu
