// The AMD chips that the emulator knows.
#pragma once

#include <string_view>

namespace lockstep::rdna {

enum class Generation { rdna2, rdna3, rdna4 };

struct Chip {
  const char* name;  // "gfx1151"
  const char* product;
  Generation generation;
  int target_version;  // as the kernel's driver counts: major * 10000 + minor * 100 + stepping
  int compute_units;   // two SIMD units each
};

// Throws std::runtime_error for a chip it does not know.
const Chip& chip_of(std::string_view name);

}  // namespace lockstep::rdna
