#include "kernels/cpu/cpu_device.h"

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

#include "kernels/cpu/functions.h"
#include "kernels/cpu/matrix.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/pool.h"
#include "kernels/device/kernel_totals.h"

namespace lockstep::kernels {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(std::string_view isa, const cpu::Functions& functions, int threads, std::string_view remark)
      : name_("cpu-" + std::string(isa)), functions_(functions), pool_(threads) {
    description_ = "CPU (" + std::string(isa) + "), " + std::to_string(pool_.threads()) +
                   (pool_.threads() == 1 ? " thread" : " threads");
    description_ += remark;
  }

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }

  void* allocate(size_t bytes) override {
    cpu::Memory memory(bytes);
    void* data = memory.data();
    memory_.emplace(data, std::move(memory));
    return data;
  }
  void release(void* memory) noexcept override { memory_.erase(memory); }
  void prepare(void* memory, size_t bytes) override { cpu::Memory::populate(memory, bytes); }
  void upload(void* to, const void* host, size_t bytes) override { std::memcpy(to, host, bytes); }
  void download(void* host, const void* from, size_t bytes) override { std::memcpy(host, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}

  void time_kernels(bool on) override {
    times_.reset();
    if (on) times_.emplace();
  }
  std::vector<KernelTime> kernel_times() const override {
    return times_ ? times_->list() : std::vector<KernelTime>{};
  }

  std::unique_ptr<Matrix> pack(const MatrixSource& source) override {
    return cpu::pack_matrix(source, nullptr, pool_);
  }
  std::unique_ptr<Matrix> pack_pair(const MatrixSource& gate, const MatrixSource& up) override {
    return cpu::pack_matrix(gate, &up, pool_);
  }
  size_t kv_page_bytes(int key_heads, int head_dim) const override {
    return functions_.kv_page_bytes(key_heads, head_dim);
  }

  void run(const Embed& op) override { start("embed", functions_.embed, op); }
  void run(const Norm& op) override { start("norm", functions_.norm, op); }
  void run(const Quantize& op) override { start("quantize", functions_.quantize, op); }
  void run(const Linear& op) override { start("linear", functions_.linear, op); }
  void run(const SwiGlu& op) override { start("swiglu", functions_.swiglu, op); }
  void run(const AttentionInputs& op) override { start("attention_inputs", functions_.attention_inputs, op); }
  void run(const Attention& op) override { start("attention", functions_.attention, op); }
  void run(const KvRead& op) override { start("kv_read", functions_.kv_read, op); }
  void run(const Convolution& op) override { start("convolution", functions_.convolution, op); }
  void run(const ConvolutionReplay& op) override {
    start("convolution_replay", functions_.convolution_replay, op);
  }
  void run(const DeltaRule& op) override { start("delta_rule", functions_.delta_rule, op); }
  void run(const DeltaReplay& op) override { start("delta_replay", functions_.delta_replay, op); }
  void run(const Router& op) override { start("router", functions_.router, op); }
  void run(const CombineExperts& op) override { start("combine_experts", functions_.combine_experts, op); }
  void run(const Gather& op) override { start("gather", functions_.gather, op); }
  void run(const Candidates& op) override { start("candidates", functions_.candidates, op); }

 private:
  template <class Op>
  void start(const char* name, void (*function)(const Op&, cpu::Pool&), const Op& op) {
    if (!times_) return function(op, pool_);
    const auto before = std::chrono::steady_clock::now();
    function(op, pool_);
    times_->add(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }

  std::string name_, description_;
  const cpu::Functions& functions_;
  cpu::Pool pool_;
  std::unordered_map<void*, cpu::Memory> memory_;
  std::optional<KernelTotals> times_;  // while operations are timed
};

}  // namespace

// The compiler's feature test also asks the operating system for the registers.
bool cpu_supports(std::string_view isa) {
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (isa == "avx2") return avx2;
  if (isa != "avx512") return false;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
}

std::unique_ptr<Device> open_cpu(std::string_view isa, int threads, std::string_view remark) {
  if (isa != "avx2" && isa != "avx512")
    throw DeviceError("there is no CPU implementation named '" + std::string(isa) +
                      "'; there are avx2 and avx512");
  if (!cpu_supports(isa)) {
    const std::string needs =
        isa == "avx2" ? "AVX2, FMA and F16C" : "AVX-512 with F, BW, VL, DQ, VNNI and VBMI";
    throw DeviceError("this CPU cannot run cpu-" + std::string(isa) + ", which needs " + needs +
                      (isa == "avx512" && cpu_supports("avx2") ? "; cpu-avx2 runs here" : ""));
  }
  return std::make_unique<CpuDevice>(isa, isa == "avx2" ? cpu::functions_avx2() : cpu::functions_avx512(),
                                     threads, remark);
}

}  // namespace lockstep::kernels
