#include "engine/sampling/chooser.h"

#include <algorithm>

namespace lockstep::engine {

Chooser::Chooser(const Sampling& sampling, uint64_t seed, std::span<const int32_t> prompt, int vocabulary)
    : rule_{sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p},
      seed_(seed),
      top_logprobs_(sampling.top_logprobs),
      vocabulary_(vocabulary),
      adjuster_(sampling, prompt) {}

int Chooser::candidates_wanted() const {
  const int needed = adjuster_.idle() ? candidates_needed(rule_, vocabulary_) : 0;
  return std::min(std::max({1, needed, top_logprobs_}), vocabulary_);
}

std::optional<Choice> Chooser::choose(const LogitRow& row, uint64_t position) const {
  const auto enough = static_cast<size_t>(adjuster_.idle() ? candidates_needed(rule_, vocabulary_) : 0);
  if (enough > 0) {
    std::vector<Candidate> ranked;
    for (size_t i = 0; i < enough; ++i) ranked.push_back({row.id[i], row.logit[i]});
    const int32_t token = engine::choose(ranked, rule_, seed_, position);
    return Choice{token, std::ranges::find(ranked, token, &Candidate::id)->logit};
  }
  const std::vector<float> own = row.all();
  std::vector<float> adjusted = own;
  adjuster_.apply(adjusted);
  const std::vector<Candidate> ranked = rank_all(adjusted, rule_.temperature);
  if (ranked.empty()) return std::nullopt;
  const int32_t token = engine::choose(ranked, rule_, seed_, position);
  return Choice{token, own[token]};
}

}  // namespace lockstep::engine
