// Speed of a GPU's operations beside what its memory can do.
#pragma once

#include <iosfwd>

#include "kernels/kernels.h"

namespace lockstep::kernels {

// Prints tables. Takes up to 6 GB of device memory and a quarter of a minute.
void bench_gpu(std::ostream& out, Device& device);

// Bytes a second that a copy within the device's memory reads and writes. Takes at most 4 GB of it.
double gpu_copy_rate(Device& device);

}  // namespace lockstep::kernels
