// Pieces of device memory that one warp reads in order, on their way into shared memory ahead of their use
// where the chip copies by itself; elsewhere they are read where they lie.
#pragma once

#include "kernels/device/words.h"

namespace lockstep::kernels::gpu {

#if defined(LOCKSTEP_AMD)
constexpr bool streams_in_shared = false;
#else
constexpr bool streams_in_shared = true;
#endif

// Piece n is `bytes` bytes at from + n / row * stride + n % row * bytes, as far as the memory before `end`
// goes; a multiple of 16, and aligned so. Up to `slots` pieces are on their way or in use.
template <int slots, int most_bytes, int row>
class Stream {
 public:
  static constexpr int slot_bytes = most_bytes;
  static constexpr int shared_bytes = slots * (most_bytes + 16);

  // All lanes of the warp; `shared` is the warp's own.
  DEVICE_METHOD Stream(uint8_t* shared, const uint8_t* from, const uint8_t* end, int64_t stride, int bytes)
      : shared_(shared), from_(from), end_(end), stride_(stride), bytes_(bytes) {
#if defined(LOCKSTEP_NVIDIA)
    if (lane_index() == 0) {
      UNROLL for (int slot = 0; slot < slots; ++slot) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrival(slot)));
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    warp_barrier();
#endif
    for (int n = 0; n < slots; ++n) start(n);
  }

  // Piece n, which has come; in order of n.
  DEVICE_METHOD const uint8_t* wait(int n) const {
#if defined(LOCKSTEP_NVIDIA)
    uint32_t come = 0;
    while (!come) {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(come)
          : "r"(arrival(n % slots)), "r"(static_cast<uint32_t>(n / slots % 2))
          : "memory");
    }
    return shared_ + n % slots * most_bytes;
#elif defined(LOCKSTEP_AMD)
    return from_ + n / row * stride_ + n % row * bytes_;
#else
    warp_barrier();
    return shared_ + n % slots * most_bytes;
#endif
  }

  // Nobody reads piece n any more: its place is used again.
  DEVICE_METHOD void done(int n) const {
#if !defined(LOCKSTEP_AMD)
    warp_barrier();
#endif
    start(n + slots);
  }

 private:
#if defined(LOCKSTEP_NVIDIA)
  DEVICE_METHOD uint32_t shared_address(const uint8_t* p) const {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
  }
  DEVICE_METHOD uint32_t arrival(int slot) const {
    return shared_address(shared_) + static_cast<uint32_t>(slots * most_bytes + slot * 8);
  }
#endif
  DEVICE_METHOD void start([[maybe_unused]] int n) const {
#if !defined(LOCKSTEP_AMD)
    if (lane_index() != 0) return;
    const uint8_t* piece = from_ + n / row * stride_ + n % row * bytes_;
    if (piece >= end_) return;
    const auto size = static_cast<uint32_t>(end_ - piece < bytes_ ? end_ - piece : bytes_);
    uint8_t* slot = shared_ + n % slots * most_bytes;
#if defined(LOCKSTEP_NVIDIA)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrival(n % slots)), "r"(size)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(slot)),
        "l"(piece), "r"(size), "r"(arrival(n % slots))
        : "memory");
#else
    for (uint32_t i = 0; i < size; ++i) slot[i] = piece[i];
#endif
#endif
  }

  uint8_t* shared_;
  const uint8_t *from_, *end_;
  int64_t stride_;
  int bytes_;
};

}  // namespace lockstep::kernels::gpu
