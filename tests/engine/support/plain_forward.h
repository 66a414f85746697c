// A plain forward pass in fp64 straight from a checkpoint's tensors, independent of kernels/: what the models
// compute, and, with activations rounded to bf16, what an engine that keeps them in bf16 makes of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/files/checkpoint.h"

namespace lockstep::test {

// [rows][length]
struct PlainRows {
  size_t rows = 0, length = 0;
  std::vector<double> x;
  PlainRows() = default;
  PlainRows(size_t r, size_t l) : rows(r), length(l), x(r * l) {}
  double* row(size_t r) { return &x[r * length]; }
  const double* row(size_t r) const { return &x[r * length]; }
};

class PlainForward {
 public:
  // bf16: every value that passes from one operation to the next is rounded to bf16 (sums, softmax and the
  // recurrent state stay in fp64, which flatters bf16).
  PlainForward(const engine::Checkpoint& checkpoint, bool bf16)
      : checkpoint_(checkpoint), c_(checkpoint.config()), bf16_(bf16) {}

  // Logits after the last of the tokens, which start at position 0.
  std::vector<double> logits(std::span<const int32_t> tokens) const;

 private:
  double rounded(double) const;
  PlainRows embedded(std::span<const int32_t> tokens) const;
  PlainRows linear(const std::string& module, int outputs, const PlainRows& in, int experts = 1,
                   int expert = 0) const;
  PlainRows norm(const PlainRows& in, const std::string& tensor) const;
  void add(PlainRows& residual, const PlainRows& branch) const;
  PlainRows attention(const std::string& at, const PlainRows& in) const;
  void prepare_head(double* x, const std::vector<float>& weight, size_t position) const;
  PlainRows delta(const std::string& at, const PlainRows& in) const;
  PlainRows convolved(const std::string& at, const PlainRows& in) const;
  PlainRows swiglu(const std::string& at, int inner, const PlainRows& in, int experts = 1,
                   int expert = 0) const;
  PlainRows experts(const std::string& at, const PlainRows& in) const;

  const engine::Checkpoint& checkpoint_;
  const engine::ModelConfig& c_;
  bool bf16_;
};

}  // namespace lockstep::test
