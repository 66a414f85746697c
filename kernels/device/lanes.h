// Lanes of GPU kernels as fibers of one host thread: how words.h runs kernels where no GPU is. For tests; the
// implementation is theirs.
#pragma once

#include <cstdint>

namespace lockstep::kernels::gpu::lanes {

struct Posted {  // what one lane shows to the others of its warp
  uint32_t word[8];
};

int thread_index();
int block(int axis);
void block_barrier();
void warp_barrier();
uint8_t* shared_memory();
// Shows n words to the warp; gives what its 32 lanes showed, valid until the lane's next call.
const Posted* post(const uint32_t* words, int n);

void know(const char* name, int threads, void (*run)(const void* kernel, const void* args),
          const void* kernel);

// Makes a kernel known under its name.
template <class Args>
bool know(const char* name, int threads, void (*kernel)(const Args&)) {
  know(
      name, threads,
      [](const void* function, const void* args) {
        reinterpret_cast<void (*)(const Args&)>(reinterpret_cast<uintptr_t>(function))(
            *static_cast<const Args*>(args));
      },
      reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(kernel)));
  return true;
}

}  // namespace lockstep::kernels::gpu::lanes
