// UTF-8 as Unicode 15, table 3-7 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::ipc {

// Bytes of the character that text begins with, 1 to 4; 0 if it begins with none (or is empty).
size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

// `code` is a Unicode scalar value.
void append_utf8(std::string& out, uint32_t code);

}  // namespace lockstep::ipc
