// GPU kernels on the host: every lane a fiber of one thread, one block after the other. Slow; finds wrong
// results, lanes that leave an exchange or a barrier early, and writes past a block's shared memory.
#pragma once

#include <memory>

#include "kernels/device/runtime.h"

namespace lockstep::kernels::gpu {

std::unique_ptr<Runtime> open_lanes();

}  // namespace lockstep::kernels::gpu
