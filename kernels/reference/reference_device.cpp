#include "kernels/reference/reference_device.h"

#include <unistd.h>

#include <cstring>
#include <new>
#include <string>

#include "kernels/reference/reference.h"

namespace lockstep::kernels {

namespace {

constexpr std::align_val_t alignment{64};

std::string megabytes(size_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

// Linux grants more than there is and kills later; what the machine cannot hold at all is refused here.
size_t machine_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

void* ReferenceDevice::allocate(size_t bytes) {
  const size_t machine = machine_memory();
  if (bytes > machine) {
    throw OutOfMemory("cannot allocate " + megabytes(bytes) + " of memory: the machine has " +
                      megabytes(machine));
  }
  const size_t padded = (bytes + 63) / 64 * 64;
  void* memory = ::operator new(padded == 0 ? 64 : padded, alignment, std::nothrow);
  if (!memory) throw OutOfMemory("cannot allocate " + megabytes(bytes) + " of memory");
  return std::memset(memory, 0, padded == 0 ? 64 : padded);
}

void ReferenceDevice::release(void* memory) noexcept { ::operator delete(memory, alignment); }

void ReferenceDevice::upload(void* to, const void* host, size_t bytes) {
  if (bytes) std::memcpy(to, host, bytes);
}
void ReferenceDevice::download(void* host, const void* from, size_t bytes) {
  if (bytes) std::memcpy(host, from, bytes);
}
void ReferenceDevice::copy(void* to, const void* from, size_t bytes) {
  if (bytes) std::memmove(to, from, bytes);
}

std::unique_ptr<Device> open_reference() { return std::make_unique<ReferenceDevice>(); }

}  // namespace lockstep::kernels
