#include "kernels/cpu/functions.h"
#include "kernels/cpu/limits.h"

#define LOCKSTEP_ISA avx512
#include "kernels/cpu/functions.inl"

namespace lockstep::kernels::cpu {

const Functions& functions_avx512() { return avx512::table; }

}  // namespace lockstep::kernels::cpu
