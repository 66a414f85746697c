// A kernel's code, made ready to run.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/rdna/code_object.h"
#include "tests/rdna/operations.h"
#include "tests/rdna/wave.h"

namespace lockstep::rdna {

// LLVM's disassembler for one chip. One thread at a time.
class Disassembler {
 public:
  explicit Disassembler(const Chip& chip);
  ~Disassembler();
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // The text of the instruction at `code`, and its length; throws Fault where there is none.
  std::string text(const uint8_t* code, const uint8_t* end, size_t& bytes) const;

 private:
  void* context_;
};

struct Program {
  const Chip* chip = nullptr;
  Kernel kernel;
  std::vector<Instruction> code;
  std::deque<Instruction> halves;  // second ones of pairs
  std::vector<std::string> texts;
};

// Throws Fault that names kernel, address and text of an instruction that the emulator does not have.
Program decode(const Chip& chip, const Kernel& kernel, const Disassembler& disassembler);

// One instruction or pair; `program` takes the second halves of pairs.
Instruction decode_text(const Chip& chip, const std::string& text, Program& program);

}  // namespace lockstep::rdna
