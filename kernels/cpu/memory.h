// Memory of the CPU device: zero-filled, aligned to 64 bytes, on huge pages where it is large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lockstep::kernels::cpu {

class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t bytes);  // throws OutOfMemory
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  // Gives memory of any Memory its pages now instead of at the first touch, where the kernel can
  // (Linux 5.14).
  static void populate(void* data, size_t bytes);

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace lockstep::kernels::cpu
