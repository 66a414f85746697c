// How this folder says no: CheckpointError and the pieces its sentences are made of.
#pragma once

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

// The checkpoint is missing, damaged, contradicts itself or is of a kind that is not supported. what() is
// one sentence that names the file or tensor and what to do.
struct CheckpointError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The name in double quotes, control characters and bytes beyond ASCII as \xNN, cut after 160 bytes: names
// come from files and end in logs.
std::string quoted(std::string_view name);
inline std::string quoted(const std::filesystem::path& path) {
  return quoted(std::string_view(path.native()));
}

// "a", "b" and 3 more: at most 8 names.
std::string listed(const std::vector<std::string>& names);

// "1 tensor", "2 tensors".
inline std::string counted(size_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

// Throws CheckpointError of the pieces written one after the other.
template <typename... Pieces>
[[noreturn]] void refuse(const Pieces&... pieces) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << pieces);
  throw CheckpointError(text.str());
}

// For a setting that the computation needs and that has no default.
[[noreturn]] inline void refuse_missing(std::string_view setting) {
  refuse(setting, " is missing; copy or download the model's configuration again");
}

}  // namespace lockstep::engine
