// A folder for the files of a check or a bench, removed with all that is in it.
#pragma once

#include <filesystem>

namespace lockstep::engine {

class ScratchFolder {
 public:
  // In memory where the system has such a place and `in_memory` asks for it, else where temporary files go.
  // Throws StartError.
  explicit ScratchFolder(bool in_memory);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep::engine
