#include "engine/memory/budget.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace lockstep::engine {
namespace {

// A number in a file that holds nothing else; `otherwise` when there is none ("max", no such file).
uint64_t number_in(const std::string& path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t value;
  return file >> value ? value : otherwise;
}

uint64_t left_in_control_group() {
  std::ifstream list("/proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {
    if (!line.starts_with("0::/")) continue;
    uint64_t left = UINT64_MAX;
    for (std::string group = line.substr(3); group.size() > 1; group.resize(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const uint64_t most = number_in(folder + "/memory.max", UINT64_MAX);
      const uint64_t used = number_in(folder + "/memory.current", 0);
      if (most != UINT64_MAX) left = std::min(left, most - std::min(most, used));
    }
    return left;
  }
  return UINT64_MAX;
}

}  // namespace

uint64_t available_memory() {
  uint64_t available = UINT64_MAX;
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    uint64_t kilobytes = 0;
    if (key == "MemAvailable:" && file >> kilobytes) available = kilobytes * 1024;
    file.ignore(256, '\n');
  }
  return std::min(available, left_in_control_group());
}

uint64_t memory_share(uint64_t of_device) { return (of_device ? of_device : available_memory()) / 4 * 3; }

Division divide(const Demand& demand) {
  const uint64_t lane = demand.page * static_cast<uint64_t>(demand.lane_pages);
  Division division{demand.fixed + lane + demand.cache, 0, 0, 0};
  if (division.least > demand.budget) return division;
  const uint64_t cache =
      demand.cache ? demand.cache : std::min<uint64_t>((demand.budget - division.least) / 2, 1 << 30);
  division.cache_slots = static_cast<int>(cache / 2 / demand.state);
  division.cache_pages = static_cast<int>(cache / 2 / demand.page);
  division.lanes_pages = static_cast<int>(std::min<uint64_t>(
      (demand.budget - demand.fixed - cache) / demand.page, uint64_t(demand.lane_pages) * demand.lanes));
  return division;
}

std::string in_words(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

}  // namespace lockstep::engine
