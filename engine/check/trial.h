// One random request of a check, and what came of it.
#pragma once

#include <random>
#include <vector>

#include "engine/engine.h"

namespace lockstep::engine {

struct Trial {
  std::vector<int32_t> tokens;
  Sampling sampling;
};

struct Outcome {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;  // a token's own, then its alternatives'
  int cached_tokens = 0;        // not compared
  bool operator==(const Outcome&) const;
};

std::vector<int32_t> random_tokens(std::mt19937&, int count, const ModelInfo&);
// A prompt of 1 to `longest` tokens, half of them of a text that repeats itself; greedy or sampled.
Trial random_trial(std::mt19937&, int longest, const ModelInfo&);

// Throw StartError when a request fails.
Outcome ask(Engine&, const Trial&);
std::vector<Outcome> ask_all(Engine&, const std::vector<Trial>&);

size_t first_difference(const Outcome&, const Outcome&);  // index of a reply token

}  // namespace lockstep::engine
