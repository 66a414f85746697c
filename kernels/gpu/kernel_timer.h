// Times each launch by a mark of the runtime before it and one after it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device/kernel_totals.h"
#include "kernels/device/runtime.h"

namespace lockstep::kernels::gpu {

class KernelTimer {
 public:
  explicit KernelTimer(Runtime& runtime) : runtime_(runtime) {}

  template <class Start>
  void launch(const std::string& kernel, const Start& start) {
    std::unique_ptr<Runtime::Mark> before = runtime_.mark();
    start();
    under_way_.push_back({kernel, std::move(before), runtime_.mark()});
  }
  // Everything that was launched is over.
  void waited() {
    for (const Launch& one : under_way_) totals_.add(one.kernel, runtime_.seconds(*one.before, *one.after));
    under_way_.clear();
  }
  std::vector<KernelTime> times() const { return totals_.list(); }

 private:
  struct Launch {
    std::string kernel;
    std::unique_ptr<Runtime::Mark> before, after;
  };
  Runtime& runtime_;
  std::vector<Launch> under_way_;
  KernelTotals totals_;
};

}  // namespace lockstep::kernels::gpu
