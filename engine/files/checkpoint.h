// A checkpoint on disk: config.json, safetensors files, MLX-affine quantization.
//
// open() reads every header and the configuration, and checks all that can be checked before a weight is
// used: which files belong to the model (weight_files.h), their layout and length (safetensors.h), what the
// configuration asks for (config_reader.h), and that every tensor of the model is there with its shape, type,
// bits and group (tensor_check.h). Afterwards reading only fails when the files change underneath.
//
// Weights are taken as stored. The weights of zero-centred norms hold 1 + w, as MLX's converters write them,
// the multi-token head's included; conv1d.weight is [channels, taps, 1]; expert matrices are stacks.
//
// Threads: const members may be called from any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/expected_tensors.h"
#include "engine/files/host_buffer.h"
#include "engine/files/model_config.h"
#include "engine/files/refuse.h"
#include "engine/files/safetensors.h"
#include "engine/files/tensor_check.h"
#include "kernels/kernels.h"

namespace lockstep::engine {

// A matrix in host memory, as MatrixSource points at it. May be moved, not copied.
struct HostMatrix {
  kernels::MatrixSource source;  // points into the storage below
  HostBuffer weights, scales, biases;
};

class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& directory);  // throws CheckpointError
  Checkpoint(Checkpoint&&) noexcept;
  ~Checkpoint();

  const ModelConfig& config() const;
  const ExpectedTensors& tensors() const;  // what there is: expected_tensors(config())

  // Names are canonical: "model.layers.0.mlp.up_proj" and so on, "lm_head", "mtp.fc" (tensor_names.h),
  // whatever prefix the files use. A name that the model does not have is a CheckpointError.
  bool has(std::string_view tensor) const;
  const TensorInfo& info(std::string_view tensor) const;
  const MatrixInfo& matrix_info(std::string_view module) const;

  // `module` without ".weight". `outputs`, `inputs` and `experts` (of stacks) must be what the checkpoint
  // has.
  HostMatrix matrix(std::string_view module, int outputs, int inputs, int experts = 1) const;

  // A tensor of the given number of elements, converted exactly to fp32.
  std::vector<float> floats(std::string_view tensor, int64_t elements) const;

  // SHA-256, lower-case hex, over all tensors and the configuration that shapes the computation
  // (fingerprint.h). Computed once, on the first call, which reads every weight.
  const std::string& fingerprint() const;

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::engine
