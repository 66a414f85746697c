// One target for clang's libFuzzer: LOCKSTEP_FUZZ_TARGET is its name.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const lockstep::fuzz::Target* const target =
      &*std::ranges::find(lockstep::fuzz::targets(), LOCKSTEP_FUZZ_TARGET, &lockstep::fuzz::Target::name);
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
