#include "kernels/cpu/scratch.h"

#include "kernels/cpu/memory.h"

namespace lockstep::kernels::cpu {
namespace {

void* grown(Memory& memory, size_t bytes) {
  if (memory.size() < bytes) {
    memory = Memory();  // first give back: the old contents are not wanted
    memory = Memory(bytes + bytes / 2);
  }
  return memory.data();
}

}  // namespace

void* task_scratch(size_t bytes) {
  thread_local Memory memory;
  return grown(memory, bytes);
}

void* call_scratch(size_t bytes) {
  thread_local Memory memory;
  return grown(memory, bytes);
}

}  // namespace lockstep::kernels::cpu
