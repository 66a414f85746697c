// Where a number of a KV page lies. Per key head a page holds
//   key high bytes, key low bytes    packed units of B: columns are positions, k are dimensions
//                                    [tile of positions][unit of 64 dimensions]
//   value high bytes, value low      packed units of B: columns are dimensions, k are the 64 positions
//                                    [tile of dimensions]
//   multipliers of the keys, of the values, float [64]
// Dimensions past head_dim, up to a whole unit, hold anything.
#pragma once

#include "kernels/device/tiles.h"
#include "kernels/gpu/layout.h"

namespace lockstep::kernels::gpu {

struct KvHead {
  uint8_t *key_high, *key_low, *value_high, *value_low;
  float *key_multiplier, *value_multiplier;
};
DEVICE_FUNCTION KvHead kv_head(const uint8_t* pages, int key_heads, int head_dim, int page, int head) {
  uint8_t* base =
      const_cast<uint8_t*>(pages) + (static_cast<int64_t>(page) * key_heads + head) * kv_head_bytes(head_dim);
  const int64_t plane = kv_plane_bytes(head_dim);
  auto* multipliers = reinterpret_cast<float*>(base + 4 * plane);
  return {base, base + plane, base + 2 * plane, base + 3 * plane, multipliers, multipliers + page_positions};
}
DEVICE_FUNCTION int key_unit(int head_dim, int tile, int unit) {
  return (tile * units_of_head(head_dim) + unit) * b_unit_bytes;
}
DEVICE_FUNCTION int key_at(int head_dim, int slot, int d) {
  return key_unit(head_dim, slot / tile_columns, d / unit_inputs) +
         b_unit_at(slot % tile_columns, d % unit_inputs);
}
DEVICE_FUNCTION int value_at(int slot, int d) {
  return d / tile_columns * b_unit_bytes + b_unit_at(d % tile_columns, slot);
}

}  // namespace lockstep::kernels::gpu
