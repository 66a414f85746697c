// The CPU as a Device: one implementation an instruction set, "avx2" and "avx512".
#pragma once

#include <memory>
#include <string_view>

#include "kernels/kernels.h"

namespace lockstep::kernels {

// Whether this CPU and operating system run the instruction set. "avx2" also needs FMA and F16C; "avx512"
// also needs the F, BW, VL, DQ, VNNI and VBMI parts.
bool cpu_supports(std::string_view isa);

// The device is named "cpu-" + isa. threads: 0 means one a CPU that may be used. remark ends the description.
// Throws DeviceError when the instruction set is unknown or not supported here.
std::unique_ptr<Device> open_cpu(std::string_view isa, int threads, std::string_view remark = "");

}  // namespace lockstep::kernels
