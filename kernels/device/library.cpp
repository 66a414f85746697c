#include "kernels/device/library.h"

#include <dlfcn.h>

namespace lockstep::kernels::gpu {

Library::Library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!handle_) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

void* Library::address(const char* name) const { return dlsym(handle_, name); }

}  // namespace lockstep::kernels::gpu
