// A regular file open for reading.
//
// Checkpoints are read with pread, never mapped: a mapped file that shrinks raises SIGBUS in whoever touches
// it, where a short read is an error that can be reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace lockstep::engine {

// Threads: const members may be called from any thread.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);  // throws CheckpointError
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const { return size_; }  // bytes when it was opened

  // Fills `to` with the bytes at `offset`. A file that has become shorter than it was when it was opened is
  // a CheckpointError with both sizes.
  void read(uint64_t offset, void* to, size_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// The whole file. Longer than `most` bytes: CheckpointError.
std::string read_text(const std::filesystem::path& path, uint64_t most);

}  // namespace lockstep::engine
