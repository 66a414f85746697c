// A checkpoint on disk: config.json, safetensors shards, MLX-affine quantization.
//
// open() reads and checks everything that can be checked before a weight is used; afterwards read() only
// fails when the file changes underneath. Formats: safetensors (github.com/huggingface/safetensors), the
// affine quantization of MLX (w = scale * code + bias per group), model families of model_config.h.
// Threads: const members may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/model_config.h"
#include "kernels/kernels.h"

namespace lockstep::engine {

// The checkpoint is missing, damaged, contradicts itself or is of a kind that is not supported. what() is
// one sentence that names the file or tensor and what to do.
struct CheckpointError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class DataType : uint8_t { bf16, fp16, fp32, u32, other };

struct TensorInfo {
  DataType type;
  std::vector<int64_t> shape;
  uint64_t bytes;
};

// A matrix in host memory, as MatrixSource points at it.
struct HostMatrix {
  kernels::MatrixSource source;  // points into the storage below
  std::vector<std::byte> weights, scales, biases;
};

class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& directory);
  Checkpoint(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::filesystem::path& directory() const;
  const ModelConfig& config() const;

  // Names are canonical: "model.layers.0.mlp.up_proj" and so on, "lm_head", "mtp.fc", whatever prefix
  // (none, "language_model.", "model.language_model.") the files use.
  bool has(std::string_view tensor) const;
  const TensorInfo& info(std::string_view tensor) const;

  // `module` without ".weight". Shapes, bits and group agree with config.json and with `outputs` and
  // `inputs` (and `experts` for stacks), else CheckpointError.
  HostMatrix matrix(std::string_view module, int outputs, int inputs, int experts = 1) const;

  // An unquantized tensor of the given number of elements, converted exactly to fp32.
  std::vector<float> floats(std::string_view tensor, int64_t elements) const;

  // SHA-256, lower-case hex, over every tensor's name, type, shape and bytes in order of canonical name and
  // over the canonical text of the configuration that shapes the computation.
  const std::string& fingerprint() const;  // computed once, on the first call

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::engine
