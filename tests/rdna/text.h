// A line of disassembly taken apart.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::rdna {

struct Line {
  std::string mnemonic;  // without what tells the encoding: v_add_f32, not v_add_f32_e32
  std::string encoding;  // "e32", "e64", "dpp", "sdwa" or ""
  std::vector<std::string> operands;
  std::vector<std::pair<std::string, std::string>> modifiers;  // "offset", "16"; "off" is an operand
};

// The text of one instruction, or of one half of a pair.
Line take_apart(std::string_view text);
// The halves of a pair "v_dual_x ... :: v_dual_y ..."; one part for other instructions.
std::vector<std::string> halves_of(const std::string& text);

// "0x1f8", "-16", "1.0" as the bits of a number of 16, 32 or 64 bits; numbers in hexadecimal are literals,
// extended by a sign bit where `is_signed`. Throws Fault.
uint64_t constant_bits(const std::string& text, int bits, bool is_signed);
// A plain whole number, decimal or hexadecimal. Throws Fault.
long number(const std::string& text);

}  // namespace lockstep::rdna
