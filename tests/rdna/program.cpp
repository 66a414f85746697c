#include "tests/rdna/program.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <cstdio>
#include <mutex>
#include <unordered_map>

#include "tests/rdna/text.h"

namespace lockstep::rdna {

Disassembler::Disassembler(const Chip& chip) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  context_ = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", chip.name, "+wavefrontsize32", nullptr, 0,
                                         nullptr, nullptr);
  if (!context_) throw Fault("LLVM has no disassembler for " + std::string(chip.name));
}

Disassembler::~Disassembler() { LLVMDisasmDispose(context_); }

std::string Disassembler::text(const uint8_t* code, const uint8_t* end, size_t& bytes) const {
  char text[512] = "";
  bytes = LLVMDisasmInstruction(context_, const_cast<uint8_t*>(code), static_cast<uint64_t>(end - code), 0,
                                text, sizeof text);
  if (bytes == 0) throw Fault("LLVM knows no instruction of these bytes");
  const std::string all = text;
  return all.substr(std::min(all.find_first_not_of(" \t"), all.size()));
}

const Entry* find_entry(const std::string& mnemonic) {
  static const auto known = [] {
    std::unordered_map<std::string, const Entry*> map;
    for (const auto& table :
         {arithmetic_entries(), integer_entries(), compare_entries(), special_entries(), matrix_entries(),
          scalar_entries(), control_entries(), lds_entries(), memory_entries()}) {
      for (const Entry& entry : table) map.emplace(entry.mnemonic, &entry);
    }
    return map;
  }();
  const auto found = known.find(mnemonic);
  return found == known.end() ? nullptr : found->second;
}

Program decode(const Chip& chip, const Kernel& kernel, const Disassembler& disassembler) {
  Program program;
  program.chip = &chip;
  program.kernel = kernel;
  std::vector<int> at_word(static_cast<size_t>(kernel.end - kernel.begin) / 4 + 1, -1);
  for (const uint8_t* code = kernel.begin; code < kernel.end;) {
    size_t bytes = 0;
    std::string text;
    try {
      text = disassembler.text(code, kernel.end, bytes);
      at_word[static_cast<size_t>(code - kernel.begin) / 4] = static_cast<int>(program.code.size());
      program.code.push_back(decode_text(chip, text, program));
    } catch (const Fault& fault) {
      char place[64];
      std::snprintf(place, sizeof place, "+0x%tx: ", code - kernel.begin);
      throw Fault(kernel.name + place + text + ": " + fault.what());
    }
    program.code.back().address = reinterpret_cast<uint64_t>(code);
    program.texts.push_back(text);
    code += bytes;
  }
  // Distances of branches are from the next instruction, in words; here in instructions.
  for (size_t n = 0; n < program.code.size(); ++n) {
    Instruction& i = program.code[n];
    if (i.kind != static_cast<int>(Kind::branch)) continue;
    const auto begin = reinterpret_cast<uint64_t>(kernel.begin);
    const int64_t word = static_cast<int64_t>(i.address - begin) / 4 + 1 + i.immediate;
    const bool inside = word >= 0 && word < static_cast<int64_t>(at_word.size());
    const int to = inside ? at_word[static_cast<size_t>(word)] : -1;
    if (to < 0) throw Fault(kernel.name + ": " + program.texts[n] + " leads nowhere");
    i.immediate = to - static_cast<int>(n) - 1;
  }
  return program;
}

}  // namespace lockstep::rdna
