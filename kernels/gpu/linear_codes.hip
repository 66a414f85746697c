// The kernels of linear_codes.h for codes of LOCKSTEP_BITS bits; compiled once for each width.
#include "kernels/gpu/linear_codes.h"

namespace lockstep::kernels::gpu {

#define LOCKSTEP_JOIN(a, b) a##b
#define LOCKSTEP_NAME(a, b) LOCKSTEP_JOIN(a, b)
#define LOCKSTEP_LINEAR(group, columns)                                                                 \
  KERNEL(LOCKSTEP_NAME(LOCKSTEP_NAME(linear_, LOCKSTEP_BITS), _##group##_##columns), LinearArgs, 128) { \
    linear_codes<LOCKSTEP_BITS, group, columns, false>(a);                                              \
  }                                                                                                     \
  KERNEL(LOCKSTEP_NAME(LOCKSTEP_NAME(swiglu_, LOCKSTEP_BITS), _##group##_##columns), LinearArgs, 256) { \
    linear_codes<LOCKSTEP_BITS, group, columns, true>(a);                                               \
  }
LOCKSTEP_LINEAR(32, 8)
LOCKSTEP_LINEAR(64, 8)
LOCKSTEP_LINEAR(128, 8)
#if !defined(LOCKSTEP_NO_MATRIX_UNIT)
LOCKSTEP_LINEAR(32, 32)
LOCKSTEP_LINEAR(64, 32)
LOCKSTEP_LINEAR(128, 32)
#endif

#undef LOCKSTEP_LINEAR
#undef LOCKSTEP_NAME
#undef LOCKSTEP_JOIN

}  // namespace lockstep::kernels::gpu
