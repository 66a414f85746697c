// What each instruction does, told apart from the emulator: on a plain state, lane by lane, in arithmetic
// that is as far from the emulator's as it can be (wide integers, loops over bits, fp64 and libm).
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::rdna::test {

// Places of scalar registers as in wave.h.
constexpr int vcc_at = 106, exec_at = 126;
constexpr int state_rows = 24, state_scalars = 24, memory_bytes = 4096;

struct State {
  uint32_t v[state_rows][32];
  uint32_t s[128];
  bool scc;
  int next = 0;
  std::vector<uint8_t> memory, lds;
  uint64_t memory_at, code_at;  // addresses

  bool active(int lane) const { return s[exec_at] >> lane & 1; }
  uint64_t wide(int r, int lane) const { return v[r][lane] | static_cast<uint64_t>(v[r + 1][lane]) << 32; }
  void put(int r, int lane, uint64_t value, int words = 1) {
    if (!active(lane)) return;
    v[r][lane] = static_cast<uint32_t>(value);
    if (words == 2) v[r + 1][lane] = static_cast<uint32_t>(value >> 32);
  }
  uint64_t wide_scalar(int r) const { return s[r] | static_cast<uint64_t>(s[r + 1]) << 32; }
  void put_scalar(int r, uint64_t value, int words = 1) {
    s[r] = static_cast<uint32_t>(value);
    if (words == 2) s[r + 1] = static_cast<uint32_t>(value >> 32);
  }
};

enum class Compare { bits, real, near };  // real: NaN equals NaN; near: and one step beside is good too
enum class Inputs { any, addresses, lds_addresses, all_lanes, exhaustive_bytes };

struct Case {
  std::vector<std::string> names;  // as chips call it
  std::string operands;            // v0 to v5 and s0 to s5 are sources, v6 and s6 on targets
  std::function<void(State&)> effect;
  Compare compare = Compare::bits;
  Inputs inputs = Inputs::any;
  std::string only = "";  // chips whose names start so
};

std::vector<Case> integer_cases();
std::vector<Case> real_cases();
std::vector<Case> mask_cases();
std::vector<Case> lane_cases();
std::vector<Case> scalar_cases();
std::vector<Case> memory_cases();

}  // namespace lockstep::rdna::test
