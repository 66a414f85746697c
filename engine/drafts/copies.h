// What followed the last time the same tokens came, in one lane's own prompt and reply.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/drafts/acceptance.h"

namespace lockstep::engine {

class Copies {
 public:
  // `tokens`: those of the last call, and more. Also checks what it would have guessed against them.
  void extend(std::span<const int32_t> tokens);

  // Chance that the next guess stands, from how guesses did before; 0 when the last tokens are new.
  double chance() const;
  // The next `count` guesses, of which there must be one. `tokens`: as of the last extend().
  std::vector<int32_t> guess(std::span<const int32_t> tokens, int count) const;

 private:
  static constexpr int context = 3;              // tokens that must be the same
  static constexpr int long_match = 8;           // from this length on a match counts as a long one
  std::unordered_map<uint64_t, int32_t> after_;  // of the context's hash: where its last occurrence ends
  int known_ = 0;                                // tokens seen
  int32_t source_ = -1;                          // where the text that is copied goes on; -1: nowhere
  int match_ = 0;                                // tokens before it that are the same
  Acceptance short_{0.3}, long_{0.7};
};

}  // namespace lockstep::engine
