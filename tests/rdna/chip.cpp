#include "tests/rdna/chip.h"

#include <stdexcept>
#include <string>

namespace lockstep::rdna {

namespace {

// Compute units as AMD's product pages state them.
constexpr Chip chips[] = {
    {"gfx1030", "RX 6800", Generation::rdna2, 100300, 60},
    {"gfx1100", "RX 7900 XTX", Generation::rdna3, 110000, 96},
    {"gfx1151", "Radeon 8060S", Generation::rdna3, 110501, 40},
    {"gfx1201", "RX 9070 XT", Generation::rdna4, 120001, 64},
};

}  // namespace

const Chip& chip_of(std::string_view name) {
  std::string known;
  for (const Chip& chip : chips) {
    if (name == chip.name) return chip;
    known += std::string(known.empty() ? "" : ", ") + chip.name;
  }
  throw std::runtime_error("the emulator knows no chip '" + std::string(name) + "'; it knows: " + known);
}

}  // namespace lockstep::rdna
