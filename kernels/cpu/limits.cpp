#include "kernels/cpu/limits.h"

#include <string>

#include "kernels/cpu/kv_layout.h"
#include "kernels/kernels.h"

namespace lockstep::kernels::cpu {

size_t kv_page_bytes(int key_heads, int head_dim) {
  if (head_dim <= 0 || head_dim > most_head_dim || head_dim % 16 != 0) {
    throw DeviceError(
        "the CPU device takes attention heads of 16, 32, ... 256 dimensions; this model's have " +
        std::to_string(head_dim));
  }
  return static_cast<size_t>(key_heads) * kv_head_bytes(head_dim);
}

void check_delta_shape(const DeltaShape& shape) {
  if (shape.value_dim > 0 && shape.value_dim % 16 == 0) return;
  throw DeviceError(
      "the CPU device takes linear attention with values of a multiple of 16 dimensions; this model's have " +
      std::to_string(shape.value_dim));
}

}  // namespace lockstep::kernels::cpu
