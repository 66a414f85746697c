#include "kernels/cpu/functions.h"

namespace lockstep::kernels::cpu {

const Functions& functions_avx2() {
  static constexpr Functions table{};
  return table;
}

}  // namespace lockstep::kernels::cpu
