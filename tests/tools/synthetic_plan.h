// What a synthetic checkpoint consists of, before anything is written.
#pragma once

#include <string>
#include <vector>

#include "tests/tools/safetensors_writer.h"
#include "tests/tools/synthetic.h"

namespace lockstep::tools {

// A tensor and how its numbers are drawn.
struct PlannedTensor {
  enum class Numbers { codes, scales, biases, normal, uniform };
  WrittenTensor tensor;  // under its canonical name
  Numbers numbers;
  float a = 0, b = 0;  // normal: mean and deviation; uniform: least and most; scales, biases: b is the
                       // deviation of the dequantized weights
  int bits = 0;        // scales, biases: of the codes
};

struct PlannedModule {
  std::string name;
  Storage storage;
};

struct SyntheticPlan {
  std::vector<PlannedTensor> tensors;
  std::vector<PlannedModule> modules;  // the matrices
};

// Throws std::runtime_error when a group does not divide a matrix's inputs.
SyntheticPlan plan_synthetic(const SyntheticShape& shape);

}  // namespace lockstep::tools
