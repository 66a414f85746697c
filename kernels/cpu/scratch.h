// Working memory of the CPU operations: grown when an operation needs more than any before it, kept until the
// thread ends. Every call gives the same memory again, whatever it held. Aligned to 64 bytes.
#pragma once

#include <cstddef>

namespace lockstep::kernels::cpu {

// For one task, of the thread that runs it. Throws OutOfMemory.
void* task_scratch(size_t bytes);
// For one operation, of the thread that calls it; its tasks may share it. Throws OutOfMemory.
void* call_scratch(size_t bytes);

// Bytes that `count` numbers of T take when the next part is to be aligned to 64 bytes.
template <class T>
[[gnu::always_inline]] constexpr size_t padded(size_t count) {
  return (count * sizeof(T) + 63) / 64 * 64;
}

// Cuts such memory into parts, each aligned to 64 bytes. Always inlined: see functions.h.
class Carver {
 public:
  [[gnu::always_inline]] explicit Carver(void* memory) : next_(static_cast<char*>(memory)) {}
  template <class T>
  [[gnu::always_inline]] T* take(size_t count) {
    T* part = reinterpret_cast<T*>(next_);
    next_ += padded<T>(count);
    return part;
  }

 private:
  char* next_;
};

}  // namespace lockstep::kernels::cpu
