// Format specifications: what follows the colon in "{:>8.2f}", and the parts that "%8.2f" shares with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/chat/language/render.h"

namespace lockstep::engine::language {

struct FormatSpec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0, grouping = 0;
  bool alternate = false;
  int64_t width = 0, precision = -1;
};

constexpr int64_t widest_format = 1 << 20;

// The digits at `at`, which moves behind them. Fault for more than widest_format.
int64_t read_format_number(std::string_view text, size_t& at);

Text pad(Render& render, const Text& text, const FormatSpec& spec, char align);

// Digits of an integer or boolean in base 2, 8, 10 or 16, without its sign.
std::string integer_digits(const Value& value, int base, bool upper_case);

// Sign, prefix and digits of `value` in their width, grouped as the specification says.
Text finish_number(Render& render, const Value& value, const std::string& prefix, std::string digits,
                   const FormatSpec& spec);

}  // namespace lockstep::engine::language
