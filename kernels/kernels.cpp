#include "kernels/kernels.h"

#include <algorithm>

#include "kernels/cpu/cpu_device.h"
#include "kernels/reference/reference.h"

namespace lockstep::kernels {

namespace {

constexpr std::string_view cpu_prefix = "cpu-";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> implementations() {
  std::vector<std::string> names;
  for (const char* isa : {"avx512", "avx2"}) {
    if (cpu_supports(isa)) names.push_back(std::string(cpu_prefix) + isa);
  }
  if (__builtin_cpu_supports("fma")) names.push_back("reference");
  return names;
}

std::unique_ptr<Device> open_device(std::string_view name, int threads) {
  const std::vector<std::string> names = implementations();
  if (names.empty()) throw DeviceError("this CPU has no FMA instruction; every implementation needs it");
  if (name == "auto") name = names.front();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw DeviceError("there is no device '" + std::string(name) +
                      "' on this machine; there are: " + joined(names) + " and auto");
  }
  if (name == "reference") return open_reference();
  return open_cpu(name.substr(cpu_prefix.size()), threads);
}

}  // namespace lockstep::kernels
