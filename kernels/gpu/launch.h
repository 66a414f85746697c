// Sizes of launches; included by the sources of GpuDevice only.
#pragma once

#include "kernels/gpu/gpu_device.h"

namespace lockstep::kernels::gpu {

// Working memory: parts of attention, groups of routed rows, weights on their way into their layout.
inline constexpr size_t scratch_bytes = size_t{64} << 20;
inline constexpr int most_grid_rows = 65535;  // of a launch's y and z

inline unsigned blocks_of(int64_t count, int per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}
inline unsigned rows_of_grid(int rows) {
  if (rows > most_grid_rows) {
    throw DeviceError("the GPU takes rounds of at most " + std::to_string(most_grid_rows) +
                      " rows; this one has " + std::to_string(rows));
  }
  return static_cast<unsigned>(rows);
}
inline const GpuMatrix& stored(const Matrix* matrix) { return static_cast<const GpuMatrix&>(*matrix); }

}  // namespace lockstep::kernels::gpu
