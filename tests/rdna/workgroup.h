// Runs kernels: a grid of workgroups, each of up to 32 waves that share an LDS and meet at barriers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/rdna/lds.h"
#include "tests/rdna/program.h"
#include "tests/rdna/wave.h"

namespace lockstep::rdna {

struct Workgroup {
  Lds lds;
  std::vector<std::unique_ptr<Wave>> waves;
};

struct Launch {
  const Program* program;
  const MemoryMap* memory;
  uint32_t blocks[3];
  uint32_t threads;       // of a workgroup
  uint32_t lds_bytes;     // beside the kernel's own
  const void* arguments;  // as many bytes as the kernel's descriptor says, known to `memory`
};

// Runs every workgroup, on as many threads as asked. Gives how many instructions all waves ran. Throws Fault
// that names kernel, address, instruction, workgroup and wave.
uint64_t run(const Launch& launch, int threads);

}  // namespace lockstep::rdna
