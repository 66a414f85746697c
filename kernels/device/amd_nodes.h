// What the kernel driver says of AMD GPUs, without any runtime: amdkfd's topology and amdgpu's memory, in
// sysfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::kernels::gpu {

// The first GPU that /sys/class/kfd/kfd/topology lists.
struct AmdNode {
  std::string chip;         // "gfx1100"
  bool integrated = false;  // it shares its memory with the processor (an APU)
  int render_minor = -1;    // of /dev/dri/renderD<minor>
};
std::optional<AmdNode> first_amd_node(const std::string& sysfs = "/sys");

// An APU's memory has two parts: the carve-out that its firmware keeps (VRAM), and what the driver maps of
// the system's (GTT). The driver takes what is allocated from the larger one (Linux 6.10 and later), while
// runtimes tell of one or the other. None where the driver does not say.
struct AmdMemory {
  uint64_t total = 0, free = 0;
  std::string source;  // for people: "VRAM carve-out", "GTT"
};
std::optional<AmdMemory> integrated_memory(const AmdNode&, const std::string& sysfs = "/sys");

}  // namespace lockstep::kernels::gpu
