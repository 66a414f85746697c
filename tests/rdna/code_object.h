// A code object as clang makes it for AMD chips, put into memory: an ELF file with kernels and their
// descriptors (LLVM, "User Guide for AMDGPU Backend", sections Code Object V5 and Kernel Descriptor).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::rdna {

// What is said of one kernel.
struct Kernel {
  std::string name;
  const uint8_t *begin, *end;  // its code
  uint32_t lds_bytes;          // beside what a launch asks for
  uint32_t argument_bytes;
  int argument_register;  // the first of two scalar registers with the arguments' address
  int user_registers;     // scalar registers filled before the workgroup's place
  bool workgroup_id[3];   // whether x, y, z are given
  unsigned most_threads;  // of a workgroup: what it was compiled for
};

class CodeObject {
 public:
  // Copies the file's segments; the file is as long as its headers say. Throws std::runtime_error when the
  // file is no such object, or its kernels need what the emulator does not have (scratch, other modes).
  explicit CodeObject(const void* file);

  uint32_t target() const { return target_; }  // EF_AMDGPU_MACH: the chip, as ELF flags have it
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const uint8_t* begin() const { return memory_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  void read_symbols(const uint8_t* file);
  Kernel read_descriptor(const std::string& name, uint64_t at, uint64_t code_bytes) const;

  struct Free {
    void operator()(uint8_t* p) const;
  };
  std::unique_ptr<uint8_t[], Free> memory_;
  size_t bytes_ = 0;
  uint32_t target_ = 0;
  std::vector<Kernel> kernels_;
};

}  // namespace lockstep::rdna
