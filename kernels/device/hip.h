// AMD GPUs through HIP.
#pragma once

#include <memory>

#include "kernels/device/runtime.h"

namespace lockstep::kernels::gpu {

// Opens the first AMD GPU. Throws DeviceError that says why there is none that can be used.
std::unique_ptr<Runtime> open_hip();

}  // namespace lockstep::kernels::gpu
