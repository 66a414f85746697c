#include "engine/check/scratch_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "engine/engine.h"

namespace lockstep::engine {

ScratchFolder::ScratchFolder(bool in_memory) {
  const std::filesystem::path memory = "/dev/shm";
  const bool there = in_memory && ::access(memory.c_str(), W_OK) == 0;
  std::string pattern = (there ? memory : std::filesystem::temp_directory_path()) / "lockstep-XXXXXX";
  if (!::mkdtemp(pattern.data()))
    throw StartError(StartError::Kind::memory, pattern + " cannot be made; set TMPDIR to a folder of yours");
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lockstep::engine
