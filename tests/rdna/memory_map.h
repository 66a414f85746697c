// The memory that kernels may touch: allocations, code, arguments. Addresses are the host's.
//
// Threads: one changes it, while no kernel runs; waves only read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep::rdna {

struct Region {
  uint64_t begin, end;
  bool writable;
  // One byte a byte of memory, 1 where it was written; null once all of it was.
  std::unique_ptr<uint8_t[]> written;
};

class MemoryMap {
 public:
  MemoryMap() = default;
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;

  // Makes memory known; nothing of it counts as written unless `written`.
  void add(const void* begin, size_t bytes, bool writable, bool written);
  void remove(const void* begin);
  // The region with this address, or null.
  const Region* find(uint64_t address) const;
  // The host wrote these bytes.
  void host_wrote(const void* begin, size_t bytes);

 private:
  std::vector<Region> regions_;  // in order of addresses
};

}  // namespace lockstep::rdna
