// What is fuzzed: readers of what clients and strangers' files say. A target may refuse its input by the
// errors that its reader documents; anything else that is thrown, a crash, a hang or a sanitizer's report is
// a fault.
#pragma once

#include <span>
#include <string_view>

namespace lockstep::fuzz {

struct Target {
  std::string_view name;  // also of its folder in corpus/
  void (*run)(std::string_view input);
};

std::span<const Target> targets();

}  // namespace lockstep::fuzz
