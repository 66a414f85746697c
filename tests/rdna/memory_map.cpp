#include "tests/rdna/memory_map.h"

#include <algorithm>
#include <cstring>

namespace lockstep::rdna {

namespace {

uint64_t address_of(const void* p) { return reinterpret_cast<uint64_t>(p); }

bool ends_before(const Region& region, uint64_t address) { return region.end <= address; }

}  // namespace

void MemoryMap::add(const void* begin, size_t bytes, bool writable, bool written) {
  Region region{address_of(begin), address_of(begin) + bytes, writable, nullptr};
  if (!written) region.written = std::make_unique<uint8_t[]>(bytes);
  const auto at = std::lower_bound(regions_.begin(), regions_.end(), region.begin, ends_before);
  regions_.insert(at, std::move(region));
}

void MemoryMap::remove(const void* begin) {
  std::erase_if(regions_, [&](const Region& r) { return r.begin == address_of(begin); });
}

const Region* MemoryMap::find(uint64_t address) const {
  const auto at = std::lower_bound(regions_.begin(), regions_.end(), address, ends_before);
  return at != regions_.end() && at->begin <= address ? &*at : nullptr;
}

void MemoryMap::host_wrote(const void* begin, size_t bytes) {
  const auto at = std::lower_bound(regions_.begin(), regions_.end(), address_of(begin), ends_before);
  if (at == regions_.end() || !at->written || at->begin > address_of(begin)) return;
  const uint64_t first = address_of(begin) - at->begin;
  if (first == 0 && bytes == at->end - at->begin) {
    at->written = nullptr;
  } else {
    std::memset(at->written.get() + first, 1, std::min<uint64_t>(bytes, at->end - at->begin - first));
  }
}

}  // namespace lockstep::rdna
