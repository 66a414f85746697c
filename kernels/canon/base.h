// What every canon header stands on: how its functions are declared, and the few words of arithmetic that
// differ between compilers. Host g++ and clang, clang's HIP and nvcc compile the same text; all of them must
// be told not to contract (-ffp-contract=off, nvcc -fmad=false) and to keep denormals.
#pragma once

#include <cstdint>

// Internal linkage on the host: the same function compiled for several instruction sets in one program must
// never be merged by the linker into one that the machine cannot run.
#if defined(__CUDACC__)
#define LOCKSTEP_CANON __host__ __device__ static inline
#elif defined(__HIP__)
#define LOCKSTEP_CANON __attribute__((host)) __attribute__((device)) static inline
#else
#define LOCKSTEP_CANON static inline
#endif

namespace lockstep::kernels::canon {

// a*b + c with one rounding.
LOCKSTEP_CANON float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Correctly rounded square root.
LOCKSTEP_CANON float square_root(float x) { return __builtin_sqrtf(x); }

LOCKSTEP_CANON uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
LOCKSTEP_CANON float float_of(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

LOCKSTEP_CANON bool is_nan(float x) { return (bits_of(x) & 0x7fffffffu) > 0x7f800000u; }
LOCKSTEP_CANON bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }
LOCKSTEP_CANON float magnitude(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
LOCKSTEP_CANON float quiet_nan() { return float_of(0x7fc00000u); }
LOCKSTEP_CANON float infinity() { return float_of(0x7f800000u); }

// The larger of two numbers; a NaN is ignored unless both are. Of +0 and -0 either may come back: nothing
// in the canon tells them apart after a maximum.
LOCKSTEP_CANON float maximum(float a, float b) { return is_nan(a) ? b : (b > a ? b : a); }

// 2^k for -126 <= k <= 127.
LOCKSTEP_CANON float power_of_two(int k) { return float_of(static_cast<uint32_t>(k + 127) << 23); }

// 1.5 * 2^23: adding it to |x| < 2^22 rounds x to the nearest integer, ties to even, in the low bits.
constexpr float round_magic = 12582912.0f;
constexpr uint32_t round_magic_bits = 0x4b400000u;

// rint(x) for |x| < 2^22.
LOCKSTEP_CANON int32_t round_to_int(float x) {
  return static_cast<int32_t>(bits_of(x + round_magic) - round_magic_bits);
}

}  // namespace lockstep::kernels::canon
