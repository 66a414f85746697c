#include "kernels/cpu/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/kernels.h"

namespace lockstep::kernels::cpu {
namespace {

constexpr size_t huge_page = size_t{2} << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

[[noreturn]] void refuse(size_t bytes) {
  throw OutOfMemory("the CPU device could not get " + std::to_string(bytes) + " bytes of memory");
}

// Zero pages at a multiple of the huge page's size.
uint8_t* map_large(size_t bytes) {
  if (bytes > SIZE_MAX / 2) refuse(bytes);
  const size_t length = round_up(bytes, huge_page), wide = length + huge_page;
  void* map = mmap(nullptr, wide, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) refuse(bytes);
  auto* begin = static_cast<uint8_t*>(map);
  auto* data = reinterpret_cast<uint8_t*>(round_up(reinterpret_cast<uintptr_t>(begin), huge_page));
  if (data > begin) munmap(begin, static_cast<size_t>(data - begin));
  if (data + length < begin + wide) munmap(data + length, static_cast<size_t>(begin + wide - data - length));
  madvise(data, length, MADV_HUGEPAGE);  // where it is refused, small pages do
  return data;
}

}  // namespace

Memory::Memory(size_t bytes) : size_(bytes) {
  if (bytes >= huge_page) {
    data_ = map_large(bytes);
    return;
  }
  const size_t length = round_up(bytes ? bytes : 1, 64);
  data_ = static_cast<uint8_t*>(std::aligned_alloc(64, length));
  if (!data_) refuse(bytes);
  std::memset(data_, 0, length);
}

Memory::~Memory() {
  if (size_ >= huge_page) {
    munmap(data_, round_up(size_, huge_page));
  } else {
    std::free(data_);
  }
}

void Memory::populate(void* data, size_t bytes) {
  constexpr uintptr_t page = 4096;
  const auto first = reinterpret_cast<uintptr_t>(data) / page * page;
  const uintptr_t end = round_up(reinterpret_cast<uintptr_t>(data) + bytes, page);
  madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE);
}

Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace lockstep::kernels::cpu
