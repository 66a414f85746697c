// The reference device: the canon's operations as plain scalar code. Each family of operations is one file of
// this folder. Not final: the contract's planted faults derive from it and change one operation.
#pragma once

#include "kernels/kernels.h"

namespace lockstep::kernels {

class ReferenceDevice : public Device {
 public:
  std::string_view name() const override { return "reference"; }
  std::string_view description() const override { return "scalar reference on one CPU thread"; }

  // Host memory. Every call finishes before it returns.
  void* allocate(size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(void* to, const void* host, size_t bytes) override;
  void download(void* host, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void wait() override {}

  std::unique_ptr<Matrix> pack(const MatrixSource&) override;
  std::unique_ptr<Matrix> pack_pair(const MatrixSource& gate, const MatrixSource& up) override;
  size_t kv_page_bytes(int key_heads, int head_dim) const override;

  void run(const Embed&) override;
  void run(const Norm&) override;
  void run(const Quantize&) override;
  void run(const Linear&) override;
  void run(const SwiGlu&) override;
  void run(const AttentionInputs&) override;
  void run(const Attention&) override;
  void run(const KvRead&) override;
  void run(const Convolution&) override;
  void run(const ConvolutionReplay&) override;
  void run(const DeltaRule&) override;
  void run(const DeltaReplay&) override;
  void run(const Router&) override;
  void run(const CombineExperts&) override;
  void run(const Gather&) override;
  void run(const Candidates&) override;
};

// Writes one row of numbers as blocks.
void write_blocks(const Blocks&, int row, const float* x);

}  // namespace lockstep::kernels
