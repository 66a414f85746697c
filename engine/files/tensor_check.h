// Holds the tensors of a checkpoint against its configuration.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/files/config_reader.h"
#include "engine/files/expected_tensors.h"
#include "engine/files/weight_files.h"
#include "kernels/kernels.h"

namespace lockstep::engine {

// How a matrix is stored. Bits and group come from the shapes of its tensors and agree with config.json.
struct MatrixInfo {
  int outputs, inputs;
  int experts;  // 0: no stack
  int bits;     // 2, 3, 4, 5, 6, 8: codes; 16: bf16
  int group;    // 0 for bf16
  kernels::ScaleType scale_type;
  uint64_t bytes;  // codes, scales and biases on disk
};

using MatrixTable = std::map<std::string, MatrixInfo, std::less<>>;  // by canonical module

// Every expected tensor is there with its shape and a type that can be used, and no other is.
// Throws CheckpointError.
MatrixTable check_tensors(const std::filesystem::path& directory, const ExpectedTensors& expected,
                          const WeightFiles& files, const Quantization& quantization);

}  // namespace lockstep::engine
