#include "kernels/cpu/functions.h"
#include "kernels/cpu/limits.h"

#define LOCKSTEP_ISA avx2
#include "kernels/cpu/functions.inl"

namespace lockstep::kernels::cpu {

const Functions& functions_avx2() { return avx2::table; }

}  // namespace lockstep::kernels::cpu
