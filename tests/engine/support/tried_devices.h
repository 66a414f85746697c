// The devices that a test tries.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::test {

// The one that LOCKSTEP_TEST_DEVICE names, whether this machine has it or not; without it all that it has.
inline std::vector<std::string> tried_devices() {
  if (const char* one = std::getenv("LOCKSTEP_TEST_DEVICE")) return {one};
  return kernels::implementations();
}

}  // namespace lockstep::test
