// The operations on a GPU: fills what kernels are given and launches them. Every kernel stands in
// kernels/gpu/.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/runtime.h"
#include "kernels/device/sleep.h"
#include "kernels/gpu/args.h"
#include "kernels/gpu/kernel_timer.h"
#include "kernels/kernels.h"

namespace lockstep::kernels::gpu {

// A matrix in the layout of weights.h.
struct GpuMatrix final : Matrix {
  GpuMatrix(Runtime& runtime_, size_t bytes_) : runtime(runtime_), memory(runtime_.allocate(bytes_)) {
    bytes = bytes_;
  }
  ~GpuMatrix() override { runtime.release(memory); }

  Runtime& runtime;
  void* memory;
  PackedWeights weights{};
  int strips = 0;  // of one half
};

class GpuDevice final : public Device {
 public:
  // asleep: tells when the machine was suspended after this was made. From then on nothing that comes from
  // the GPU is given out; wait() and download() throw DeviceError.
  explicit GpuDevice(std::unique_ptr<Runtime> runtime, TimeAsleep (*asleep)() = time_asleep);
  ~GpuDevice() override;

  std::string_view name() const override { return runtime_->name(); }
  std::string_view description() const override { return runtime_->description(); }

  void* allocate(size_t bytes) override { return runtime_->allocate(bytes); }
  void release(void* memory) noexcept override { runtime_->release(memory); }
  uint64_t free_memory() override { return runtime_->free_memory(); }
  void upload(void* to, const void* host, size_t bytes) override { runtime_->upload(to, host, bytes); }
  void download(void* host, const void* from, size_t bytes) override {
    runtime_->download(host, from, bytes);
    waited();
  }
  void copy(void* to, const void* from, size_t bytes) override { runtime_->copy(to, from, bytes); }
  void wait() override {
    runtime_->wait();
    waited();
  }
  void repeat(std::span<const int32_t> key, const std::function<void()>& work) override;
  void time_kernels(bool on) override;
  std::vector<KernelTime> kernel_times() const override;

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

 private:
  void waited();
  std::unique_ptr<GpuMatrix> make_matrix(const MatrixSource&, bool pair);
  void fill(GpuMatrix&, const MatrixSource&, int half);
  void quantize(int rows, const float* x, const Blocks*);
  void linear(const char* kind, LinearArgs, int halves, int experts);
  int group_rows(LinearArgs&, int experts, int size);
  void share_out(LinearArgs&, int columns, int halves, unsigned blocks) const;
  void convolve(const ConvolutionArgs&, const DeltaShape&);
  void delta(const char* kind, const DeltaArgs&, int at_once);  // rows that the kernel prepares at once
  template <class Args>
  void launch(const std::string& kernel, Grid blocks, unsigned threads, size_t shared_bytes,
              const Args& args) {
    const auto start = [&] { runtime_->launch(kernel, blocks, threads, shared_bytes, &args); };
    if (timer_)
      timer_->launch(kernel, start);
    else
      start();
  }

  // A key that came before; its graph is made when it comes a second time.
  struct Repeated {
    std::unique_ptr<Runtime::Graph> graph;
    uint64_t last_used = 0;
  };

  std::unique_ptr<Runtime> runtime_;
  TimeAsleep (*const asleep_)();
  const std::chrono::nanoseconds slept_before_;
  void* scratch_;
  std::map<std::vector<int32_t>, Repeated> repeated_;
  uint64_t repeats_ = 0;
  std::optional<KernelTimer> timer_;  // while kernels are timed
};

}  // namespace lockstep::kernels::gpu
