// Adds up the times of kernels by their names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels {

class KernelTotals {
 public:
  void add(const std::string& name, double seconds) {
    Total& total = totals_[name];
    ++total.launches;
    total.seconds += seconds;
  }
  // Longest first. The kernels of linear layers are named after their operations, Linear and SwiGlu.
  std::vector<KernelTime> list() const {
    std::vector<KernelTime> times;
    for (const auto& [name, total] : totals_) {
      const bool linear = name.starts_with("linear") || name.starts_with("swiglu");
      times.push_back({name, linear, total.launches, total.seconds});
    }
    std::ranges::stable_sort(times, std::ranges::greater{}, &KernelTime::seconds);
    return times;
  }

 private:
  struct Total {
    uint64_t launches = 0;
    double seconds = 0;
  };
  std::map<std::string, Total> totals_;
};

}  // namespace lockstep::kernels
