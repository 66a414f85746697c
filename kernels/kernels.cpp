#include "kernels/kernels.h"

#include <algorithm>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/functions.h"
#include "kernels/device/cuda.h"
#include "kernels/device/hip.h"
#include "kernels/gpu/gpu_device.h"
#include "kernels/reference/reference.h"

namespace lockstep::kernels {

namespace {

constexpr std::string_view cpu_prefix = "cpu-";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// GPUs by the names of their runtimes, best first.
struct Gpu {
  const char* name;
  std::unique_ptr<gpu::Runtime> (*open)();
};
constexpr Gpu gpus[] = {{"cuda", gpu::open_cuda}, {"hip", gpu::open_hip}};

// Why it cannot be used, or "".
std::string problem_of(const Gpu& gpu) {
  try {
    gpu.open();
    return "";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

std::vector<std::string> cpus() {
  std::vector<std::string> names;
  for (const char* isa : {"avx512", "avx2"}) {
    if (cpu_supports(isa)) names.push_back(std::string(cpu_prefix) + isa);
  }
  if (__builtin_cpu_supports("fma")) names.push_back("reference");
  return names;
}

}  // namespace

std::vector<std::string> implementations() {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) {
    if (problem_of(gpu).empty()) names.push_back(gpu.name);
  }
  for (const std::string& name : cpus()) names.push_back(name);
  return names;
}

std::unique_ptr<Device> open_device(std::string_view name, int threads) {
  std::string problems;
  for (const Gpu& gpu : gpus) {
    if (name == gpu.name) return std::make_unique<gpu::GpuDevice>(gpu.open());
    if (name != "auto") continue;
    try {
      return std::make_unique<gpu::GpuDevice>(gpu.open());
    } catch (const DeviceError& error) {
      problems += std::string("; not ") + gpu.name + ": " + error.what();
    }
  }
  const std::vector<std::string> names = cpus();
  if (names.empty())
    throw DeviceError("this CPU has no FMA instruction; every CPU implementation needs it" + problems);
  if (name == "auto") name = names.front();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw DeviceError("there is no device '" + std::string(name) +
                      "' on this machine; there are: " + joined(implementations()) + " and auto");
  }
  if (name == "reference") return open_reference();
  return open_cpu(name.substr(cpu_prefix.size()), threads, problems);
}

void scaled_exp(std::span<const float> x, float maximum, float temperature, float* out) {
  const cpu::Functions* functions = cpu_supports("avx512") ? &cpu::functions_avx512()
                                    : cpu_supports("avx2") ? &cpu::functions_avx2()
                                                           : nullptr;
  if (functions)
    return functions->scaled_exp(x.data(), static_cast<int>(x.size()), maximum, temperature, out);
  for (size_t i = 0; i < x.size(); ++i) out[i] = canon::exp((x[i] - maximum) / temperature);
}

}  // namespace lockstep::kernels
