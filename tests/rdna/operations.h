// The tables of instructions: what each is called, how its operands stand, and what runs it.
#pragma once

#include <span>
#include <string>

#include "tests/rdna/wave.h"

namespace lockstep::rdna {

// How operands stand in the text.
enum class Form : uint8_t {
  vector,          // vector target, sources
  accumulate,      // as vector, and the target is the last source too
  mask,            // scalar target, sources
  exec_mask,       // sources; EXEC is the target
  vector_mask,     // vector target, scalar target, sources
  scalar,          // scalar target, sources
  scalar_update,   // as scalar, and the target is the last source too
  scalar_compare,  // sources; SCC is the target
  branch,          // distance in words of 4 bytes
  wait,            // counters
  nothing,         // operands do not matter
  lds_load,        // vector target, address
  lds_store,       // address, data
  lds_return,      // vector target, address, data
  load,            // vector target, address, scalar base or off
  store,           // address, data, scalar base or off
  flat_store,      // address, data
  scalar_load,     // scalar target, base, offset
};

// What the static reading counts by.
enum class Kind : uint8_t {
  scalar,
  vector,
  dot,
  matrix,
  lds,
  load,
  store,
  scalar_load,
  branch,
  wait,
  barrier,
  other
};

struct Entry {
  const char* mnemonic;
  Run run;
  Form form = Form::vector;
  uint8_t bits[3] = {32, 32, 32};  // of its first sources, for constants
  bool is_signed = false;          // literals of 64-bit sources
  int data = 0;                    // bytes of one piece of memory, or another number that `run` needs
  Kind kind = Kind::vector;
  bool reads_scc = false, reads_vcc = false;
  bool moves = false, whole = false;  // as in Instruction
};

std::span<const Entry> arithmetic_entries();  // vector_arithmetic.cpp
std::span<const Entry> integer_entries();     // vector_integer.cpp
std::span<const Entry> compare_entries();     // vector_compare.cpp
std::span<const Entry> special_entries();     // vector_special.cpp
std::span<const Entry> matrix_entries();      // matrix.cpp
std::span<const Entry> scalar_entries();      // scalar.cpp
std::span<const Entry> control_entries();     // control.cpp
std::span<const Entry> lds_entries();         // lds_access.cpp
std::span<const Entry> memory_entries();      // memory_access.cpp

// Null for a mnemonic that no table has.
const Entry* find_entry(const std::string& mnemonic);

// What DPP and SDWA put around an instruction (vector_special.cpp).
void run_dpp(Wave&, const Instruction&);
void run_parts(Wave&, const Instruction&);  // SDWA

// Counters and barriers (control.cpp, waits.cpp).
void wait_for(Wave&, Counter, uint32_t most_left);
void begin_load(Wave&, Counter, const Instruction&, bool in_order, bool lds);
void count_store(Wave&, Counter, bool in_order, bool lds);

}  // namespace lockstep::rdna
