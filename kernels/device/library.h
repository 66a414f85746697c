// A shared library that is there or not, opened at run time.
#pragma once

#include <initializer_list>
#include <string>

namespace lockstep::kernels::gpu {

class Library {
 public:
  // Opens the first of the names that is there; false when none is. It stays loaded: some vendors' libraries
  // end the process when they are loaded again.
  bool open(std::initializer_list<const char*> names);
  // Sets a function pointer; false when the library has no function of that name.
  template <class Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address(name));
    return function != nullptr;
  }

 private:
  void* address(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace lockstep::kernels::gpu
