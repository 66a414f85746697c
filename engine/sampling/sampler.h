// The choice of a token: a pure function of (logits, parameters, seed, position), as the canon defines it
// (kernels/canon/canon.md, "Sampling").
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::engine {

struct Candidate {
  int32_t id;
  float logit;
};

struct SamplingRule {
  float temperature = 0;  // 0: the largest logit, ties to the lower id
  int top_k = 0;          // 0: off
  float top_p = 1;
  float min_p = 0;
};

inline constexpr int most_device_candidates = 256;  // kernels::Candidates gives no more

// How many of the largest logits choose() must be given; 0: all of them.
int candidates_needed(const SamplingRule&, int vocabulary);

// `ranked`: at least candidates_needed() candidates, logit falling, ties id rising.
int32_t choose(std::span<const Candidate> ranked, const SamplingRule&, uint64_t seed, uint64_t position);

// choose() from all logits, without ranking more of them than the rule needs. Nothing if all are -inf.
std::optional<int32_t> choose_of_all(std::span<const float> logits, const SamplingRule&, uint64_t seed,
                                     uint64_t position);

// All logits ranked, without those that no draw can give at this temperature. Empty if all are -inf.
std::vector<Candidate> rank_all(std::span<const float> logits, float temperature);

// What choose() must be given if only some tokens are allowed: those ranked, up to where the rule cuts.
// `allows` is asked in order of rank, for as few tokens as can be.
std::vector<Candidate> rank_allowed(std::span<const float> logits, const SamplingRule&,
                                    const std::function<bool(int32_t)>& allows);

}  // namespace lockstep::engine
