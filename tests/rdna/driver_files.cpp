// The files of the kernel's driver that lockstepd asks for, as they are on a machine with the emulated chip:
// /dev/kfd may be opened, and the topology lists one node. The library is loaded before others (LD_PRELOAD),
// so these functions stand in the place of the C library's and pass on whatever is not the driver's.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/rdna/chip.h"

namespace {

constexpr char device[] = "/dev/kfd", nodes[] = "/sys/class/kfd/kfd/topology/nodes/";

template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_device(const char* path) { return std::strcmp(path, device) == 0; }
bool is_topology(const char* path) { return std::strncmp(path, nodes, sizeof nodes - 1) == 0; }

// Properties of the one node; null for others.
FILE* open_properties(const char* path) {
  const char* chip = std::getenv("LOCKSTEP_RDNA_CHIP");
  if (!chip || std::strncmp(path + sizeof nodes - 1, "0/", 2) != 0) return nullptr;
  int ends[2];  // a confined daemon may make no file
  if (pipe(ends) != 0) return nullptr;
  dprintf(ends[1], "simd_count 2\ngfx_target_version %d\n", lockstep::rdna::chip_of(chip).target_version);
  close(ends[1]);
  FILE* file = fdopen(ends[0], "r");
  return file;
}

}  // namespace

extern "C" {

int stat(const char* path, struct stat* state) noexcept {
  if (is_device(path)) {
    std::memset(state, 0, sizeof *state);
    state->st_mode = S_IFCHR | 0666;
    return 0;
  }
  return original<int(const char*, struct stat*)>("stat")(path, state);
}

int access(const char* path, int mode) noexcept {
  return is_device(path) ? 0 : original<int(const char*, int)>("access")(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  if (is_topology(path)) return open_properties(path);
  return original<FILE*(const char*, const char*)>("fopen64")(path, mode);
}

FILE* fopen(const char* path, const char* mode) {
  if (is_topology(path)) return open_properties(path);
  return original<FILE*(const char*, const char*)>("fopen")(path, mode);
}

}  // extern "C"
