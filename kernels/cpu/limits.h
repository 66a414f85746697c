// Shapes that the CPU device takes.
#pragma once

#include <cstddef>

#include "kernels/operations.h"

namespace lockstep::kernels::cpu {

// Sums of head_dim products stay within the 32-bit arithmetic of dot_avx2.h and dot_avx512.h up to here.
inline constexpr int most_head_dim = 256;

// Bytes of a KV page (kv_layout.h). Throws DeviceError unless head_dim is a multiple of 16 up to
// most_head_dim.
size_t kv_page_bytes(int key_heads, int head_dim);

// Throws DeviceError unless value_dim is a multiple of 16.
void check_delta_shape(const DeltaShape&);

}  // namespace lockstep::kernels::cpu
