// UTF-8 as Unicode 15, table 3-7 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
// utf8_length() stands in ipc.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/ipc.h"

namespace lockstep::ipc {

bool is_utf8(std::string_view text);

// `code` is a Unicode scalar value.
void append_utf8(std::string& out, uint32_t code);

}  // namespace lockstep::ipc
