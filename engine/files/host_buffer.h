// Host memory that is not zero-filled: gigabytes are read into it straight from files.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace lockstep::engine {

// Aligned to 64 bytes. Moving keeps the address.
class HostBuffer {
 public:
  HostBuffer() = default;
  explicit HostBuffer(size_t bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 64) / 64 * 64))), size_(bytes) {
    if (!data_) throw std::bad_alloc();
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace lockstep::engine
