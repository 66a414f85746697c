// The kernels of linear_codes.h and linear_many.h for codes of LOCKSTEP_BITS bits; compiled once for each
// width.
#include "kernels/gpu/linear_codes.h"
#include "kernels/gpu/linear_many.h"

namespace lockstep::kernels::gpu {

#define LOCKSTEP_JOIN(a, b) a##b
#define LOCKSTEP_NAME(a, b) LOCKSTEP_JOIN(a, b)
#if defined(LOCKSTEP_AMD)  // more threads would leave a lane fewer registers than it needs
#define LOCKSTEP_THREADS(halves, columns) ((halves)*fewest_warps * warp_lanes)
#else
#define LOCKSTEP_THREADS(halves, columns) (most_warps(columns) * warp_lanes)
#endif
#define LOCKSTEP_LINEAR(group, columns, blocks)                                                            \
  KERNEL_OF_BLOCKS(LOCKSTEP_NAME(LOCKSTEP_NAME(linear_, LOCKSTEP_BITS), _##group##_##columns), LinearArgs, \
                   LOCKSTEP_THREADS(1, columns), blocks) {                                                 \
    linear_codes<LOCKSTEP_BITS, group, columns, false>(a);                                                 \
  }                                                                                                        \
  KERNEL_OF_BLOCKS(LOCKSTEP_NAME(LOCKSTEP_NAME(swiglu_, LOCKSTEP_BITS), _##group##_##columns), LinearArgs, \
                   LOCKSTEP_THREADS(2, columns), blocks) {                                                 \
    linear_codes<LOCKSTEP_BITS, group, columns, true>(a);                                                  \
  }
#if defined(LOCKSTEP_AMD)  // there a tile has 16 rows of inputs already
LOCKSTEP_LINEAR(32, 16, 2)
LOCKSTEP_LINEAR(64, 16, 2)
LOCKSTEP_LINEAR(128, 16, 2)
#if !defined(LOCKSTEP_NO_MATRIX_UNIT)
LOCKSTEP_LINEAR(32, 32, 1)
LOCKSTEP_LINEAR(64, 32, 1)
LOCKSTEP_LINEAR(128, 32, 1)
#endif
#else
LOCKSTEP_LINEAR(32, 4, 2)
LOCKSTEP_LINEAR(64, 4, 2)
LOCKSTEP_LINEAR(128, 4, 2)
LOCKSTEP_LINEAR(32, 8, 2)
LOCKSTEP_LINEAR(64, 8, 2)
LOCKSTEP_LINEAR(128, 8, 2)
LOCKSTEP_LINEAR(32, 16, 2)
LOCKSTEP_LINEAR(64, 16, 2)
LOCKSTEP_LINEAR(128, 16, 2)
#endif
#define LOCKSTEP_MANY(group)                                                                \
  KERNEL(LOCKSTEP_NAME(LOCKSTEP_NAME(linear_, LOCKSTEP_BITS), _##group##_many), LinearArgs, \
         (many_threads<LOCKSTEP_BITS, group>)) {                                            \
    linear_many<LOCKSTEP_BITS, group, false>(a);                                            \
  }                                                                                         \
  KERNEL(LOCKSTEP_NAME(LOCKSTEP_NAME(swiglu_, LOCKSTEP_BITS), _##group##_many), LinearArgs, \
         (many_threads<LOCKSTEP_BITS, group>)) {                                            \
    linear_many<LOCKSTEP_BITS, group, true>(a);                                             \
  }
#if !defined(LOCKSTEP_NO_MATRIX_UNIT)
LOCKSTEP_MANY(32)
LOCKSTEP_MANY(64)
LOCKSTEP_MANY(128)
#endif

#undef LOCKSTEP_LINEAR
#undef LOCKSTEP_THREADS
#undef LOCKSTEP_MANY
#undef LOCKSTEP_NAME
#undef LOCKSTEP_JOIN

}  // namespace lockstep::kernels::gpu
