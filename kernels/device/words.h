// The words that GPU kernels are written in. One kernel source is compiled by nvcc, by clang for AMD chips,
// and by the host's compiler, which runs every lane as a fiber (lanes.h), so that tests need no GPU.
// Vendor words stand here and in tiles.h only.
//
// A block is a whole number of warps; a warp is 32 lanes on every chip. All lanes of a warp take part in the
// words that exchange between lanes.
#pragma once

#include <cstdint>

#if defined(__HIP__)
#define LOCKSTEP_AMD 1
#define DEVICE_FUNCTION __attribute__((device)) static inline __attribute__((always_inline))
#define DEVICE_METHOD __attribute__((device)) inline __attribute__((always_inline))
// A kernel takes one struct by value, called `a`. The name is what the host asks the module for.
#define KERNEL(name, Args, threads)                                                                      \
  extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(threads, threads))) void \
  name(const Args a)
// Launched with at most so many threads; NVIDIA: at least so many blocks share a multiprocessor.
#define KERNEL_OF_BLOCKS(name, Args, threads, blocks)                                                     \
  extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(32, threads))) void name( \
      const Args a)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")
#elif defined(__CUDACC__)
#define LOCKSTEP_NVIDIA 1
// At least 16 warps a multiprocessor: the memory's latency is theirs to hide.
#define DEVICE_FUNCTION __device__ static __forceinline__
#define DEVICE_METHOD __device__ __forceinline__
#define KERNEL(name, Args, threads) \
  extern "C" __global__ void __launch_bounds__(threads, 512 / (threads)) name(const __grid_constant__ Args a)
#define KERNEL_OF_BLOCKS(name, Args, threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Args a)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#else
#define LOCKSTEP_LANES 1
#include "kernels/device/lanes.h"
#define DEVICE_FUNCTION [[maybe_unused]] static inline
#define DEVICE_METHOD inline
#define KERNEL(name, Args, threads) LOCKSTEP_KERNEL(name, Args, threads)
#define KERNEL_OF_BLOCKS(name, Args, threads, blocks) LOCKSTEP_KERNEL(name, Args, threads)
#define LOCKSTEP_KERNEL(name, Args, threads)                                                 \
  static void name(const Args& a);                                                           \
  [[maybe_unused]] static const bool name##_known = lanes::know<Args>(#name, threads, name); \
  static void name([[maybe_unused]] const Args& a)
#define UNROLL
#define NO_UNROLL
#endif

#include "kernels/canon/base.h"

namespace lockstep::kernels::gpu {

constexpr int warp_lanes = 32;

struct alignas(16) Quad {  // 16 bytes, moved at once
  uint32_t word[4];
};
struct alignas(8) Duo {
  uint32_t word[2];
};

#if defined(LOCKSTEP_AMD)

DEVICE_FUNCTION int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
// A value that all lanes of a warp share: it then takes a scalar register.
DEVICE_FUNCTION int same_in_warp(int v) { return __builtin_amdgcn_readfirstlane(v); }
DEVICE_FUNCTION int block_x() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
DEVICE_FUNCTION int block_y() { return static_cast<int>(__builtin_amdgcn_workgroup_id_y()); }
DEVICE_FUNCTION int block_z() { return static_cast<int>(__builtin_amdgcn_workgroup_id_z()); }

#if defined(__GFX12__)
extern "C" __attribute__((device)) void amd_wait_dscnt(uint16_t) __asm("llvm.amdgcn.s.wait.dscnt");
#endif

// Waits for all threads of the block and for what they wrote to shared memory.
DEVICE_FUNCTION void block_barrier() {
  // The wait is said in words: LLVM 19 drops that of a workgroup's fence in a loop. For the compiler's order
  // a wavefront's fence is enough.
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront", "local");
#if defined(__GFX12__)
  amd_wait_dscnt(0);
#elif defined(__GFX11__)
  __builtin_amdgcn_s_waitcnt(0xfc07);  // lgkmcnt(0)
#else
  __builtin_amdgcn_s_waitcnt(0xc07f);  // lgkmcnt(0)
#endif
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront", "local");
}
// The same for the lanes of one warp and shared memory.
DEVICE_FUNCTION void warp_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront", "local");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront", "local");
}

// The value of the lane whose number differs in bit(s) `mask`, a power of two below 32.
template <int mask>
DEVICE_FUNCTION uint32_t exchange_bits(uint32_t v) {
  const int i = static_cast<int>(v);
  if constexpr (mask == 16) {
    return static_cast<uint32_t>(__builtin_amdgcn_permlanex16(i, i, 0x76543210, 0xfedcba98, false, false));
  } else {
    return static_cast<uint32_t>(__builtin_amdgcn_update_dpp(0, i, 0x160 | mask, 0xf, 0xf, true));
  }
}

// Memory that the lanes of a block share; its size is the launch's.
extern "C" __attribute__((shared)) __attribute__((aligned(16))) uint8_t lockstep_shared[];
DEVICE_FUNCTION uint8_t* shared_memory() { return reinterpret_cast<uint8_t*>(lockstep_shared); }
// Adds to an integer in shared memory; gives what was there before.
DEVICE_FUNCTION int32_t shared_add(int32_t* at, int32_t n) {
  return __hip_atomic_fetch_add(at, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}

// A kernel may start before the one before it in the stream has ended: what that one writes may only be read
// after wait_for_inputs(). let_next_start() allows the next kernel to start.
DEVICE_FUNCTION void wait_for_inputs() {}
DEVICE_FUNCTION void let_next_start() {}

#elif defined(LOCKSTEP_NVIDIA)

DEVICE_FUNCTION int thread_index() { return static_cast<int>(threadIdx.x); }
DEVICE_FUNCTION int same_in_warp(int v) { return v; }
DEVICE_FUNCTION int block_x() { return static_cast<int>(blockIdx.x); }
DEVICE_FUNCTION int block_y() { return static_cast<int>(blockIdx.y); }
DEVICE_FUNCTION int block_z() { return static_cast<int>(blockIdx.z); }

DEVICE_FUNCTION void block_barrier() { __syncthreads(); }
DEVICE_FUNCTION void warp_barrier() { __syncwarp(); }

template <int mask>
DEVICE_FUNCTION uint32_t exchange_bits(uint32_t v) {
  return __shfl_xor_sync(0xffffffffu, v, mask);
}

extern __shared__ __align__(16) uint8_t lockstep_shared[];
DEVICE_FUNCTION uint8_t* shared_memory() { return lockstep_shared; }
DEVICE_FUNCTION int32_t shared_add(int32_t* at, int32_t n) { return atomicAdd(at, n); }

DEVICE_FUNCTION void wait_for_inputs() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
DEVICE_FUNCTION void let_next_start() { asm volatile("griddepcontrol.launch_dependents;"); }

#else

DEVICE_FUNCTION int thread_index() { return lanes::thread_index(); }
DEVICE_FUNCTION int same_in_warp(int v) { return v; }
DEVICE_FUNCTION int block_x() { return lanes::block(0); }
DEVICE_FUNCTION int block_y() { return lanes::block(1); }
DEVICE_FUNCTION int block_z() { return lanes::block(2); }

DEVICE_FUNCTION void block_barrier() { lanes::block_barrier(); }
DEVICE_FUNCTION void warp_barrier() { lanes::warp_barrier(); }

template <int mask>
DEVICE_FUNCTION uint32_t exchange_bits(uint32_t v) {
  return lanes::post(&v, 1)[lanes::thread_index() % warp_lanes ^ mask].word[0];
}

DEVICE_FUNCTION uint8_t* shared_memory() { return lanes::shared_memory(); }
DEVICE_FUNCTION int32_t shared_add(int32_t* at, int32_t n) {
  const int32_t before = *at;
  *at += n;
  return before;
}

DEVICE_FUNCTION void wait_for_inputs() {}
DEVICE_FUNCTION void let_next_start() {}

#endif

DEVICE_FUNCTION int lane_index() { return thread_index() % warp_lanes; }
DEVICE_FUNCTION int warp_index() { return same_in_warp(thread_index() / warp_lanes); }

template <int mask>
DEVICE_FUNCTION float exchange(float v) {
  return canon::float_of(exchange_bits<mask>(canon::bits_of(v)));
}
template <int mask>
DEVICE_FUNCTION int32_t exchange(int32_t v) {
  return static_cast<int32_t>(exchange_bits<mask>(static_cast<uint32_t>(v)));
}

// The fold of 32 strands, one a lane (canon/fold.h); every lane gets the sum.
DEVICE_FUNCTION float fold_lanes(float v) {
  v = v + exchange<16>(v);
  v = v + exchange<8>(v);
  v = v + exchange<4>(v);
  v = v + exchange<2>(v);
  return v + exchange<1>(v);
}
// The largest of the lanes' numbers, NaN ignored.
DEVICE_FUNCTION float largest_of_lanes(float v) {
  v = canon::maximum(v, exchange<16>(v));
  v = canon::maximum(v, exchange<8>(v));
  v = canon::maximum(v, exchange<4>(v));
  v = canon::maximum(v, exchange<2>(v));
  return canon::maximum(v, exchange<1>(v));
}
DEVICE_FUNCTION int32_t sum_of_lanes(int32_t v) {
  v = v + exchange<16>(v);
  v = v + exchange<8>(v);
  v = v + exchange<4>(v);
  v = v + exchange<2>(v);
  return v + exchange<1>(v);
}

}  // namespace lockstep::kernels::gpu
