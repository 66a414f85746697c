// Measures the kernels of a CPU device against what the machine can do at best, in one run.
#pragma once

#include <ostream>
#include <string_view>

namespace lockstep::kernels {

// Prints small tables: the state of the machine, one row against plain reading, many rows against products in
// registers, a few rows, small layers, packing. device and threads as for open_device(); takes about ten
// seconds and 700 MB. Throws DeviceError for a device that is not a CPU with vector kernels.
void bench_kernels(std::ostream& out, std::string_view device, int threads);

}  // namespace lockstep::kernels
