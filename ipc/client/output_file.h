// Files that commands write for the user.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::ipc::client {

// Refuses a place where no file can be made, before any work is done for it. Throws Failure.
void check_writable(const std::string& path);

// Writes all of it or leaves the file as it was: through a file beside it that takes its place. What is no
// regular file is written into. A new file is for its owner's eyes only. Throws Failure.
void write_file(const std::string& path, std::string_view text);

}  // namespace lockstep::ipc::client
