#include "engine/sampling/adjust.h"

#include <limits>

namespace lockstep::engine {

LogitAdjuster::LogitAdjuster(const Sampling& sampling, std::span<const int32_t> prompt)
    : repetition_(sampling.repetition_penalty),
      frequency_(sampling.frequency_penalty),
      presence_(sampling.presence_penalty),
      bias_(sampling.logit_bias),
      active_(repetition_ != 1 || frequency_ != 0 || presence_ != 0 || !bias_.empty()) {
  if (repetition_ != 1) seen_.insert(prompt.begin(), prompt.end());
}

void LogitAdjuster::apply(std::span<float> logits) const {
  for (const int32_t token : seen_) {
    float& l = logits[token];
    l = l > 0 ? l / repetition_ : l * repetition_;
  }
  for (const auto& [token, count] : count_) {
    float& l = logits[token];
    l = (l - static_cast<float>(count) * frequency_) - presence_;
  }
  for (const auto& [token, bias] : bias_) {
    float& l = logits[token];
    l = bias <= Sampling::never_bias ? -std::numeric_limits<float>::infinity() : l + bias;
  }
}

void LogitAdjuster::accept(int32_t token) {
  if (repetition_ != 1) seen_.insert(token);
  if (frequency_ != 0 || presence_ != 0) ++count_[token];
}

}  // namespace lockstep::engine
