// One wave of 32 lanes: its registers, what is known of them, and instructions made ready to run.
#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/rdna/chip.h"
#include "tests/rdna/lds.h"
#include "tests/rdna/memory_map.h"

namespace lockstep::rdna {

// What a kernel did wrong, or the emulator cannot do. The text has no place yet; execute() adds it.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr int lanes = 32;
constexpr uint32_t all_lanes = 0xffffffff;

// Places of scalar registers, whatever numbers a chip gives them: 0 to 105, then these.
constexpr int vcc = 106, first_ttmp = 108, m0 = 124, null = 125, exec = 126, scalar_registers = 128;
// The place of `null` stands for SCC where it is told what was written.
constexpr int scc_place = null;
// Rows of vector registers beyond the 256: for values between the two halves of one instruction.
constexpr int spare = 256, spare_rows = 5;

struct Source {
  enum Kind : uint8_t { none, vector, scalar, constant } kind = none;
  bool absolute = false, negative = false;
  uint8_t words = 1;
  uint16_t reg = 0;
  uint64_t value = 0;  // of a constant, as wide as the instruction reads it
};

// Registers by number, for quick tests of many at once.
struct Registers {
  uint64_t vector[4] = {}, scalar[2] = {};

  void add_vector(int first, int count) {
    for (int r = first; r < first + count && r < spare; ++r) vector[r / 64] |= uint64_t{1} << r % 64;
  }
  void add_scalar(int first, int count) {
    for (int r = first; r < first + count; ++r) scalar[r / 64] |= uint64_t{1} << r % 64;
  }
  void add(const Registers& other) {
    for (int i = 0; i < 4; ++i) vector[i] |= other.vector[i];
    for (int i = 0; i < 2; ++i) scalar[i] |= other.scalar[i];
  }
  // Whether all of these are among the others.
  bool within(const Registers& other) const {
    uint64_t missing = (scalar[0] & ~other.scalar[0]) | (scalar[1] & ~other.scalar[1]);
    for (int i = 0; i < 4; ++i) missing |= vector[i] & ~other.vector[i];
    return missing == 0;
  }
  bool meets(const Registers& other) const {
    uint64_t both = (scalar[0] & other.scalar[0]) | (scalar[1] & other.scalar[1]);
    for (int i = 0; i < 4; ++i) both |= vector[i] & other.vector[i];
    return both != 0;
  }
  bool has_vector(int r) const { return vector[r / 64] >> r % 64 & 1; }
  bool has_scalar(int r) const { return scalar[r / 64] >> r % 64 & 1; }
};

struct Wave;
struct Instruction;
using Run = void (*)(Wave&, const Instruction&);

// Selection of a part of a source or target (SDWA).
enum class Part : uint8_t { word, low_half, high_half, byte0, byte1, byte2, byte3 };

struct Instruction {
  Run run = nullptr;
  Run inner = nullptr;                  // what DPP, SDWA and the first half of a pair do beside their own
  const Instruction* second = nullptr;  // the other half of a pair
  // With DPP and SDWA `source` and `target` are spare registers, and these the ones of the code.
  Source original[2];
  uint16_t final_target = 0;  // also of the first half of a pair
  Source source[4];
  int sources = 0;
  uint16_t target = 0, targets = 0;  // first vector register written, how many
  uint16_t scalar_target = null, scalar_targets = 0;
  int32_t immediate = 0, immediate2 = 0;  // offsets, counts, how far a branch goes
  uint32_t lane_table[lanes] = {};        // DPP: the lane each lane reads
  uint32_t write_mask = all_lanes;        // DPP: lanes that row and bank masks let write
  bool bound_control = false;
  bool moves = false;  // copies a register and may copy what nobody wrote
  bool whole = false;  // reads registers of all lanes, whatever EXEC is
  Part source_part[2] = {Part::word, Part::word}, target_part = Part::word;
  bool source_signed[2] = {false, false};
  Registers reads, writes;
  Registers needs;       // those of `reads` that must have been written
  uint64_t address = 0;  // of the code
  int kind = 0;          // an InstructionKind
};

// Memory operations count down when they are done (RDNA3 ISA 4.4, RDNA4 ISA 4.4: s_waitcnt and its
// successors).
enum Counter : uint8_t { load_count, store_count, lds_count, scalar_count, counters };

struct Pending {
  uint32_t serial;
  bool in_order, lds;
  uint16_t first = 0, count = 0;
  bool scalar = false;
};

struct Workgroup;

struct Wave {
  alignas(64) uint32_t v[spare + spare_rows][lanes];
  uint32_t s[scalar_registers];
  uint32_t scalar_bits[scalar_registers];  // bits of each that were written: masks are written lane by lane
  bool scc = false;
  uint32_t defined[spare + spare_rows];  // lanes of each vector register that were written
  Registers full;     // vector registers written in all lanes, and scalar ones that were written
  Registers awaited;  // targets of loads that are on their way
  uint32_t owner[spare], scalar_owner[scalar_registers];  // the load that each awaits
  std::vector<Pending> pending[counters];
  uint32_t serial = 0;

  const Chip* chip = nullptr;
  Workgroup* group = nullptr;
  const MemoryMap* memory = nullptr;
  const Region* region = nullptr;  // the last one used
  int index = 0;                   // in its workgroup
  uint32_t started = 0;            // lanes it began with
  int next = 0;                    // the instruction that comes next
  bool ended = false, at_barrier = false, signaled = false;
  uint64_t executed = 0;

  void start(uint32_t lanes_in_use);

  uint32_t active() const { return s[exec]; }
  void set_scalar(int r, uint32_t value) {
    if (r == null) return;
    s[r] = value;
    scalar_bits[r] = all_lanes;
    full.scalar[r / 64] |= uint64_t{1} << r % 64;
  }
  void set_scalar64(int r, uint64_t value) {
    set_scalar(r, static_cast<uint32_t>(value));
    if (r != null) set_scalar(r + 1, static_cast<uint32_t>(value >> 32));
  }
  // Only these bits of a scalar register, or none of it, count as written.
  void undefine_scalar(int r, uint32_t written = 0) {
    if (r == null || written == all_lanes) return;
    if (r == exec) throw Fault("sets EXEC from what nobody wrote");
    scalar_bits[r] = written;
    full.scalar[r / 64] &= ~(uint64_t{1} << r % 64);
  }
  void set_scc(bool value) {
    scc = value;
    full.scalar[scc_place / 64] |= uint64_t{1} << scc_place % 64;
  }
  // These lanes of a vector register are written now.
  void define(int r, uint32_t mask) {
    defined[r] |= mask;
    if (r < spare && defined[r] == all_lanes) full.vector[r / 64] |= uint64_t{1} << r % 64;
  }
  void undefine(int r, uint32_t mask) {
    if (mask == 0) return;
    defined[r] &= ~mask;
    if (r < spare) full.vector[r / 64] &= ~(uint64_t{1} << r % 64);
  }
};

}  // namespace lockstep::rdna
