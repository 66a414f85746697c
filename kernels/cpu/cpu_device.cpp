#include "kernels/cpu/cpu_device.h"

#include <cstring>
#include <string>
#include <unordered_map>

#include "kernels/cpu/functions.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/pool.h"

namespace lockstep::kernels {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(std::string_view isa, const cpu::Functions& functions, int threads)
      : name_("cpu-" + std::string(isa)), functions_(functions), pool_(threads) {
    description_ = "CPU (" + std::string(isa) + "), " + std::to_string(pool_.threads()) +
                   (pool_.threads() == 1 ? " thread" : " threads");
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
  void upload(void* to, const void* host, size_t bytes) override { std::memcpy(to, host, bytes); }
  void download(void* host, const void* from, size_t bytes) override { std::memcpy(host, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}

  std::unique_ptr<Matrix> pack(const MatrixSource&) override { return nullptr; }
  std::unique_ptr<Matrix> pack_pair(const MatrixSource&, const MatrixSource&) override { return nullptr; }
  size_t kv_page_bytes(int key_heads, int head_dim) const override {
    return functions_.kv_page_bytes(key_heads, head_dim);
  }

  void run(const Embed& op) override { call(functions_.embed, op); }
  void run(const Norm& op) override { call(functions_.norm, op); }
  void run(const Quantize& op) override { call(functions_.quantize, op); }
  void run(const Linear& op) override { call(functions_.linear, op); }
  void run(const SwiGlu& op) override { call(functions_.swiglu, op); }
  void run(const AttentionInputs& op) override { call(functions_.attention_inputs, op); }
  void run(const Attention& op) override { call(functions_.attention, op); }
  void run(const KvRead& op) override { call(functions_.kv_read, op); }
  void run(const Convolution& op) override { call(functions_.convolution, op); }
  void run(const ConvolutionReplay& op) override { call(functions_.convolution_replay, op); }
  void run(const DeltaRule& op) override { call(functions_.delta_rule, op); }
  void run(const DeltaReplay& op) override { call(functions_.delta_replay, op); }
  void run(const Router& op) override { call(functions_.router, op); }
  void run(const CombineExperts& op) override { call(functions_.combine_experts, op); }
  void run(const Gather& op) override { call(functions_.gather, op); }
  void run(const Candidates& op) override { call(functions_.candidates, op); }

 private:
  template <class Op>
  void call(void (*function)(const Op&, cpu::Pool&), const Op& op) {
    if (!function) throw DeviceError(name_ + " has no such operation yet");
    function(op, pool_);
  }

  std::string name_, description_;
  const cpu::Functions& functions_;
  cpu::Pool pool_;
  std::unordered_map<void*, cpu::Memory> memory_;
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

std::unique_ptr<Device> open_cpu(std::string_view isa, int threads) {
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
                                     threads);
}

}  // namespace lockstep::kernels
