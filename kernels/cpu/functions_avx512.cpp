#include "kernels/cpu/functions.h"

namespace lockstep::kernels::cpu {

const Functions& functions_avx512() {
  static constexpr Functions table{};
  return table;
}

}  // namespace lockstep::kernels::cpu
