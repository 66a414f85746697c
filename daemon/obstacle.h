// Why a path that ought to be there cannot be reached.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::daemon {

// The first element on the way to an absolute path that this process may not enter or read, with what hides
// it and the remedy, as a sentence; empty when there is none, or when something is missing rather than
// forbidden.
std::string obstacle(const std::filesystem::path& path);

}  // namespace lockstep::daemon
