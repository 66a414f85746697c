// Machine code from text, by clang's assembler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/rdna/program.h"

namespace lockstep::rdna {

// The bytes of these lines for a chip. Throws std::runtime_error with what the assembler said.
std::vector<uint8_t> assemble(const Chip& chip, const std::string& text);

// A kernel of lines of text, ready to run; s[0:1] has the address of its arguments.
struct Assembled {
  Assembled(const Chip& chip, const std::string& text);

  std::vector<uint8_t> bytes;
  Program program;
};

}  // namespace lockstep::rdna
