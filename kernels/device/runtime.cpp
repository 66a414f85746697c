#include "kernels/device/runtime.h"

// The table of the build (kernels.cmake).
extern "C" const lockstep::kernels::gpu::CodeObject lockstep_code_objects[], lockstep_code_objects_end[];

namespace lockstep::kernels::gpu {

std::vector<CodeObject> code_objects() { return {lockstep_code_objects, lockstep_code_objects_end}; }

std::vector<CodeObject> code_objects_of(std::string_view chip) {
  std::vector<CodeObject> some;
  for (const CodeObject& object : code_objects()) {
    if (chip == object.chip) some.push_back(object);
  }
  return some;
}

std::string chips_with_code(std::string_view prefix) {
  std::string text, last;
  for (const CodeObject& object : code_objects()) {
    const std::string chip = object.chip;
    if (chip == last || !chip.starts_with(prefix)) continue;
    text += (text.empty() ? "" : ", ") + chip;
    last = chip;
  }
  return text.empty() ? "none" : text;
}

}  // namespace lockstep::kernels::gpu
