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

// Pieces of `bytes` bytes, `row` of them side by side and then `stride` bytes on from the first of them, as
// far as the memory before `end` goes; a multiple of 16, and aligned so. Up to `slots` pieces are on their
// way or in use.
template <int slots, int most_bytes, int row>
class Stream {
 public:
  static constexpr int shared_bytes = slots * (most_bytes + 16);

  // All lanes of the warp; `shared` is the warp's own.
  DEVICE_METHOD Stream(uint8_t* shared, const uint8_t* from, const uint8_t* end, int64_t stride, int bytes)
      : shared_(shared),
        from_(from),
        end_(end),
        skip_(stride - static_cast<int64_t>(row) * bytes),
        bytes_(bytes) {
#if defined(LOCKSTEP_NVIDIA)
    if (lane_index() == 0) {
      UNROLL for (int slot = 0; slot < slots; ++slot) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrival(slot)));
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    warp_barrier();
#endif
#if !defined(LOCKSTEP_AMD)
    UNROLL for (int slot = 0; slot < slots; ++slot) start(slot);
#endif
  }

  // The next piece, which has come.
  DEVICE_METHOD const uint8_t* wait() const {
#if defined(LOCKSTEP_NVIDIA)
    uint32_t come = 0;
    while (!come) {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(come)
          : "r"(arrival(slot_)), "r"(turn_)
          : "memory");
    }
    return shared_ + slot_ * most_bytes;
#elif defined(LOCKSTEP_AMD)
    return from_;
#else
    warp_barrier();
    return shared_ + slot_ * most_bytes;
#endif
  }

  // Nobody reads that piece any more: its place is used again.
  DEVICE_METHOD void done() {
#if defined(LOCKSTEP_AMD)
    advance();
#else
    warp_barrier();
    start(slot_);
    if (++slot_ == slots) {
      slot_ = 0;
      turn_ ^= 1;
    }
#endif
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
  DEVICE_METHOD void advance() {
    from_ += bytes_;
    if (++in_row_ == row) {
      in_row_ = 0;
      from_ += skip_;
    }
  }
#if !defined(LOCKSTEP_AMD)
  DEVICE_METHOD void start(int slot) {
    if (lane_index() == 0 && from_ < end_) {
      const auto size = static_cast<uint32_t>(end_ - from_ < bytes_ ? end_ - from_ : bytes_);
      uint8_t* to = shared_ + slot * most_bytes;
#if defined(LOCKSTEP_NVIDIA)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrival(slot)), "r"(size)
                   : "memory");
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              shared_address(to)),
          "l"(from_), "r"(size), "r"(arrival(slot))
          : "memory");
#else
      for (uint32_t i = 0; i < size; ++i) to[i] = from_[i];
#endif
    }
    advance();
  }
#endif

  uint8_t* shared_;
  const uint8_t *from_, *end_;  // from_: the next piece to start, or to read where none is copied
  int64_t skip_;
  int bytes_, in_row_ = 0, slot_ = 0;
  uint32_t turn_ = 0;  // of the slots, its last bit
};

}  // namespace lockstep::kernels::gpu
