// The implementation "reference": the canon as plain scalar code, one thread.
#pragma once

#include <memory>

#include "kernels/kernels.h"

namespace lockstep::kernels {

std::unique_ptr<Device> open_reference();

}  // namespace lockstep::kernels
