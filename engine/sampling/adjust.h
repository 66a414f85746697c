// Penalties and biases: what a request changes about the logits before a token is chosen.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/sampling/parameters.h"

namespace lockstep::engine {

// Of one reply. The order is the canon's: repetition, frequency, presence, bias.
class LogitAdjuster {
 public:
  LogitAdjuster(const Sampling&, std::span<const int32_t> prompt);

  bool idle() const { return !active_; }      // apply() would change nothing, now and later
  void apply(std::span<float> logits) const;  // one row over the vocabulary
  void accept(int32_t token);                 // joins the reply

 private:
  float repetition_, frequency_, presence_;
  std::vector<std::pair<int32_t, float>> bias_;
  bool active_;
  std::unordered_set<int32_t> seen_;             // in prompt or reply; only for a repetition penalty
  std::unordered_map<int32_t, uint32_t> count_;  // in the reply
};

}  // namespace lockstep::engine
