// Which tensors a model of the family has: the list that open() holds a checkpoint to and that models load
// by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/files/model_config.h"

namespace lockstep::engine {

// A matrix: y[outputs] = W x[inputs], or a stack of `experts` of them. Stored as codes (name.weight,
// name.scales, name.biases) or in bf16 (name.weight), see MatrixSource in kernels/operations.h.
struct ExpectedMatrix {
  std::string name;  // canonical, without ".weight": "model.layers.0.mlp.up_proj"
  int outputs, inputs;
  int experts = 0;  // 0: no stack, two dimensions
};

// A small tensor in bf16, fp16 or fp32.
struct ExpectedFloats {
  std::string name;  // canonical and whole: "model.norm.weight", "model.layers.0.linear_attn.A_log"
  std::vector<int64_t> shape;
};

struct ExpectedTensors {
  std::vector<ExpectedMatrix> matrices;
  std::vector<ExpectedFloats> floats;
};

// In order of layers. The multi-token head's are there when config.mtp_layers is not 0.
ExpectedTensors expected_tensors(const ModelConfig& config);

}  // namespace lockstep::engine
