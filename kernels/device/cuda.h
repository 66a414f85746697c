// NVIDIA GPUs through the CUDA driver.
#pragma once

#include <memory>

#include "kernels/device/runtime.h"

namespace lockstep::kernels::gpu {

// Opens the first NVIDIA GPU. Throws DeviceError that says why there is none that can be used.
std::unique_ptr<Runtime> open_cuda();

}  // namespace lockstep::kernels::gpu
