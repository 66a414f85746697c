// Writes one safetensors file front to back (the format: engine/files/safetensors.h). Written apart from the
// engine's reader, so that each checks the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace lockstep::tools {

struct WrittenTensor {
  std::string name, dtype;  // "BF16", "F16", "F32", "U32"
  std::vector<int64_t> shape;

  uint64_t bytes() const;
};

class SafetensorsWriter {
 public:
  // Writes the header; `format` becomes __metadata__.format. Throws std::runtime_error.
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<WrittenTensor>& tensors,
                    const std::string& format = "mlx");
  // The tensors' bytes in their order, in pieces of any size.
  void write(const void* data, size_t bytes);
  void close();  // throws when bytes are missing or the disk is full

 private:
  std::filesystem::path path_;
  std::ofstream out_;
  uint64_t left_ = 0;
};

}  // namespace lockstep::tools
