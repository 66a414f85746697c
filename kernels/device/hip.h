// AMD GPUs through HIP.
#pragma once

#include <memory>
#include <string>

#include "kernels/device/runtime.h"

namespace lockstep::kernels::gpu {

// Why the device file of the kernel's driver (/dev/kfd) cannot be used, or "": it is missing, or this user
// may not open it and which group may.
std::string kernel_driver_problem(const char* device_file);

// Opens the first AMD GPU. Throws DeviceError that says why there is none that can be used.
std::unique_ptr<Runtime> open_hip();

}  // namespace lockstep::kernels::gpu
