// One file of the safetensors format (github.com/huggingface/safetensors, "Format"):
//
//   offset  bytes  content
//        0      8  n: length of the header, little-endian
//        8      n  header, a JSON object: name -> {"dtype", "shape", "data_offsets": [begin, end]}, and
//                  optionally "__metadata__" -> {string: string}; trailing blanks are part of it
//      8+n         data, to which the offsets are relative; tensors are dense, row-major, little-endian
//
// Everything is checked when the file is opened: the header's limits, every type, shape and pair of offsets,
// that no two tensors overlap, that no byte is left out, and that the file is exactly as long as all that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/input_file.h"

namespace lockstep::engine {

// `other`: a type of the format that no tensor of the text model may have.
enum class DataType : uint8_t { bf16, fp16, fp32, u32, other };

struct TensorInfo {
  DataType type;
  std::vector<int64_t> shape;
  uint64_t bytes;
};

// As headers write it: BF16, F16, F32, U32; "another type" for others.
std::string_view name_of(DataType type);
// "BF16 [512, 64]"
std::string text_of(const TensorInfo& tensor);

inline constexpr uint64_t most_header_bytes = 100'000'000;
inline constexpr size_t most_tensors_per_file = 1'000'000;
inline constexpr size_t most_dimensions = 8;

struct SafetensorsFile {
  struct Tensor {
    std::string name;
    TensorInfo info;
    uint64_t offset;  // in the file, bytes
  };

  InputFile file;
  std::string format;           // __metadata__.format: "mlx", "pt", or empty
  std::vector<Tensor> tensors;  // in order of name, no name twice

  // Throws CheckpointError.
  static SafetensorsFile open(const std::filesystem::path& path);
};

}  // namespace lockstep::engine
