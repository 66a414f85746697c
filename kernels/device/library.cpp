#include "kernels/device/library.h"

#include <dlfcn.h>

namespace lockstep::kernels::gpu {

bool Library::open(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!handle_) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  return handle_ != nullptr;
}

void* Library::address(const char* name) const { return dlsym(handle_, name); }

}  // namespace lockstep::kernels::gpu
