#include "kernels/device/amd_nodes.h"

#include <fstream>

namespace lockstep::kernels::gpu {

namespace {

std::optional<uint64_t> number_in(const std::string& file) {
  std::ifstream in(file);
  uint64_t value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

// gfx_target_version is major, minor and stepping as decimal pairs; the names have hexadecimal digits.
std::string chip_of(long version) {
  constexpr char digit[] = "0123456789abcdef";
  return "gfx" + std::to_string(version / 10000) + digit[version / 100 % 100 % 16] +
         digit[version % 100 % 16];
}

}  // namespace

std::optional<AmdNode> first_amd_node(const std::string& sysfs) {
  for (int number = 0; number < 256; ++number) {
    std::ifstream properties(sysfs + "/class/kfd/kfd/topology/nodes/" + std::to_string(number) +
                             "/properties");
    if (!properties) return std::nullopt;
    AmdNode node;
    std::string key;
    long value = 0;
    while (properties >> key >> value) {
      if (key == "gfx_target_version" && value != 0) node.chip = chip_of(value);
      if (key == "cpu_cores_count") node.integrated = value != 0;
      if (key == "drm_render_minor") node.render_minor = static_cast<int>(value);
    }
    if (!node.chip.empty()) return node;
  }
  return std::nullopt;
}

std::optional<AmdMemory> integrated_memory(const AmdNode& node, const std::string& sysfs) {
  if (!node.integrated || node.render_minor < 0) return std::nullopt;
  std::optional<AmdMemory> larger;
  for (const auto& [name, source] : {std::pair{"vram", "VRAM carve-out"}, {"gtt", "GTT"}}) {
    const std::string file =
        sysfs + "/class/drm/renderD" + std::to_string(node.render_minor) + "/device/mem_info_" + name;
    const auto total = number_in(file + "_total"), used = number_in(file + "_used");
    if (!total || !used || *used > *total || (larger && larger->total >= *total)) continue;
    larger = AmdMemory{*total, *total - *used, source};
  }
  return larger;
}

}  // namespace lockstep::kernels::gpu
