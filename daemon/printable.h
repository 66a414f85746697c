// Text from outside, made fit for an error message or the log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::daemon {

// One line of valid UTF-8: control characters and bytes that are no UTF-8 become \xNN. Of more than about
// `most` bytes the middle is left out, with "…" in its place.
std::string printable(std::string_view text, std::size_t most);

}  // namespace lockstep::daemon
