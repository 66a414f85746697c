// How a request wants its tokens chosen. Values are checked by the engine's door.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::engine {

struct Sampling {
  float temperature = 1;  // 0: greedy
  float top_p = 1, min_p = 0;
  int top_k = 0;  // 0: off
  // Before all that, on the logits (canon.md, "Candidates, sampling and log-probabilities").
  float repetition_penalty = 1;                       // divides, for tokens of prompt and reply
  float frequency_penalty = 0, presence_penalty = 0;  // subtracted, for tokens of the reply
  std::vector<std::pair<int32_t, float>> logit_bias;  // token and what is added; never_bias: never chosen
  static constexpr float never_bias = -100;

  std::optional<uint64_t> seed;  // missing: derived from the prompt
  int choice = 0;                // of several replies to a prompt; added to the seed
  int max_tokens = 0;            // 0: what the context leaves
  std::vector<std::string> stop;
  int top_logprobs = -1;  // -1: none wanted; 0 to 20: that many alternatives a token
  bool prompt_logprobs =
      false;                // with them, those of the prompt; it is read whole then, whatever is known of it
  bool ignore_end = false;  // go on after an end token
  static constexpr int last_priority = 100;
  int priority =
      0;  // among an owner's requests that wait: lower ones go first; beyond the last one, after all others
  bool fresh = false;  // the whole prompt is read: nothing of it comes from memory or disk
  // Whether tokens are guessed ahead: where it pays, never, as many as there is room for, or such that from a
  // place on, another one each time, guesses are made up. It changes the speed and nothing else.
  enum class Draft { priced, never, always, spoiled } draft = Draft::priced;
  int draft_depth = 0;  // of always and spoiled: the most guesses at once; 0: what there is room for
};

}  // namespace lockstep::engine
