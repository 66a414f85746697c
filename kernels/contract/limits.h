// What the door promises beside the operations: memory and packing.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels::contract {

// One line a promise that the device breaks.
std::vector<std::string> limit_problems(Device&);

}  // namespace lockstep::kernels::contract
