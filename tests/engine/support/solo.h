// A model with one lane, driven by hand: tokens in, logits out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/files/checkpoint.h"
#include "engine/models/forward.h"

namespace lockstep::test {

class Solo {
 public:
  // `context`: positions there is room for; `rows`: most rows of one run.
  Solo(const std::filesystem::path& model, const std::string& device, int context, int rows = 512);

  // Starts over: the next token is at position 0.
  void reset() { position_ = 0; }
  // Feeds tokens in chunks of at most `chunk` and returns the logits after the last one.
  std::vector<float> feed(std::span<const int32_t> tokens, int chunk);
  // Feeds tokens in one run and returns the logits after each, [tokens][vocabulary].
  std::vector<float> feed_all(std::span<const int32_t> tokens);
  // Feeds tokens in one run, the last `drafts` of them guesses, of which all but the first `stands` rows are
  // taken back.
  void feed_guessed(std::span<const int32_t> tokens, int drafts, int stands);
  // The multi-token head's guesses: [j] at the token after tokens[from + j], from all tokens up to there.
  std::vector<int32_t> guesses(std::span<const int32_t> tokens, int from);
  engine::Forward& forward() { return *forward_; }  // the lane is in slot 0 of two
  const engine::ModelConfig& config() const { return checkpoint_.config(); }
  int draft_vocabulary() const { return forward_->draft_vocabulary(); }
  const engine::Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  engine::Checkpoint checkpoint_;
  std::unique_ptr<kernels::Device> device_;
  engine::Weights weights_;
  std::unique_ptr<engine::Forward> forward_;
  std::vector<int32_t> pages_;
  int position_ = 0;
};

int32_t largest(std::span<const float> logits);

}  // namespace lockstep::test
