// `lockstepd selftest` and `lockstepd bench kernels`.
#include <ostream>

#include "engine/engine.h"
#include "kernels/kernels.h"

namespace lockstep::engine {

bool self_test(std::ostream& out, const std::string& device, int threads) {
  try {
    return kernels::self_test(out, device, threads);
  } catch (const kernels::DeviceError& e) {
    throw StartError(StartError::Kind::device, e.what());
  }
}

void bench_kernels(std::ostream& out, const std::string& device, int threads) {
  try {
    kernels::bench_kernels(out, device, threads);
  } catch (const kernels::DeviceError& e) {
    throw StartError(StartError::Kind::device, e.what());
  }
}

}  // namespace lockstep::engine
