// What kernels of whole rows share: blocks of the canon made by a warp.
#pragma once

#include "kernels/canon/blocks.h"
#include "kernels/device/words.h"
#include "kernels/operations.h"

namespace lockstep::kernels::gpu {

constexpr int most_block = 256;  // numbers of one block

// Makes the block of x[0..n), n up to most_block, by one warp: bytes to high and low (places given by at(i)),
// gives the multiplier, and float(sum of q) * multiplier in *sum. x may be shared memory.
template <class Number, class Place>
DEVICE_FUNCTION float warp_block(int n, Number x, Place at, int8_t* high, int8_t* low, float* sum) {
  const int lane = lane_index();
  float m = 0.0f;
  int32_t unfit = 0;
  for (int i = lane; i < n; i += warp_lanes) {
    const float v = x(i);
    if (!canon::is_finite(v)) unfit = 1;
    const float size = canon::magnitude(v);
    m = size > m ? size : m;
  }
  m = largest_of_lanes(m);
  const bool empty = sum_of_lanes(unfit) != 0;
  const int32_t e = canon::block_exponent(empty ? 0.0f : m);
  const float scale = canon::block_scale(e);
  int32_t total = 0;
  for (int i = lane; i < n; i += warp_lanes) {
    const int32_t q = empty ? 0 : canon::block_q(x(i), scale);
    high[at(i)] = static_cast<int8_t>(canon::high_byte(q));
    low[at(i)] = static_cast<int8_t>(canon::low_byte(q));
    total += q;
  }
  total = sum_of_lanes(total);
  const float multiplier = empty ? canon::quiet_nan() : canon::block_multiplier(e);
  if (sum) *sum = static_cast<float>(total) * multiplier;
  return multiplier;
}

// Makes block `index` of Blocks from x.
template <class Number>
DEVICE_FUNCTION void write_block(const Blocks& blocks, int64_t index, Number x) {
  const int64_t first = index * blocks.group;
  float sum;
  const float multiplier = warp_block(
      blocks.group, x, [](int i) { return i; }, blocks.high + first, blocks.low + first, &sum);
  if (lane_index() == 0) {
    blocks.multiplier[index] = multiplier;
    if (blocks.sum) blocks.sum[index] = sum;
  }
}

// The sum of squares of x[0..n) in the canon's strands, by one warp; every lane gets it.
template <class Number>
DEVICE_FUNCTION float warp_sum_of_squares(int n, Number x) {
  constexpr int ahead = 8;
  float strand = 0.0f;
  int i = lane_index();
  for (; i + (ahead - 1) * warp_lanes < n; i += ahead * warp_lanes) {
    float v[ahead];
    UNROLL for (int k = 0; k < ahead; ++k) v[k] = x(i + k * warp_lanes);
    UNROLL for (int k = 0; k < ahead; ++k) strand = canon::fma(v[k], v[k], strand);
  }
  for (; i < n; i += warp_lanes) {
    const float v = x(i);
    strand = canon::fma(v, v, strand);
  }
  return fold_lanes(strand);
}

}  // namespace lockstep::kernels::gpu
