// Chooses the tokens of one reply, one after the other: everything between a row of logits and a token.
//
// With drafts too: choose() for the row of a position, accept() what it gave, and go on to the next row only
// if that equals the draft. So a drafted reply is the undrafted one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/sampling/adjust.h"
#include "engine/sampling/form/form_filter.h"
#include "engine/sampling/parameters.h"
#include "engine/sampling/sampler.h"

namespace lockstep::engine {

// One row that the model gave.
struct LogitRow {
  std::span<const int32_t> id;  // the largest logits: logit falling, ties id rising
  std::span<const float> logit;
  float maximum, log_sum;                   // of all logits (kernels::Candidates)
  std::function<std::vector<float>()> all;  // [vocabulary]
};

struct Choice {
  int32_t token;
  float logit;  // the model's own, before any penalty or bias
};

class Chooser {
 public:
  Chooser(const Sampling&, uint64_t seed, std::span<const int32_t> prompt, int vocabulary,
          std::optional<FormFilter> form = std::nullopt);

  // How many of the largest logits a row should come with, for choosing and for log-probabilities.
  int candidates_wanted() const;

  // The token at `position`. Nothing if the request's biases and form leave none. Throws FormError.
  std::optional<Choice> choose(const LogitRow&, uint64_t position);
  void accept(int32_t token);

  // For drafts: what choose() gives for the row if no penalty, bias or form speaks. Changes nothing.
  int32_t guess(const LogitRow&, uint64_t position) const;
  int guess_candidates() const;  // how many of the largest logits guess() makes use of

 private:
  std::vector<Candidate> few(const LogitRow&);
  SamplingRule rule_;
  uint64_t seed_;
  int top_logprobs_, vocabulary_;
  LogitAdjuster adjuster_;
  std::optional<FormFilter> form_;
};

}  // namespace lockstep::engine
