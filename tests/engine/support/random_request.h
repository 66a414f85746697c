// Requests of random tokens that sample, for tests of what is resumed.
#pragma once

#include <random>
#include <vector>

#include "engine/engine.h"

namespace lockstep::test {

inline engine::Sampling few(int tokens) {
  engine::Sampling s;
  s.temperature = 0.8f;
  s.seed = 11;
  s.max_tokens = tokens;
  s.top_logprobs = 2;
  s.ignore_end = true;
  return s;
}

inline std::vector<int32_t> random_tokens(std::mt19937& random, int count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 2000);
  return tokens;
}

}  // namespace lockstep::test
