#include "engine/sampling/chooser.h"

#include <algorithm>

namespace lockstep::engine {

Chooser::Chooser(const Sampling& sampling, uint64_t seed, std::span<const int32_t> prompt, int vocabulary,
                 std::optional<FormFilter> form)
    : rule_{sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p},
      seed_(seed),
      top_logprobs_(sampling.top_logprobs),
      vocabulary_(vocabulary),
      adjuster_(sampling, prompt),
      form_(std::move(form)) {}

int Chooser::candidates_wanted() const {
  int needed = adjuster_.idle() ? candidates_needed(rule_, vocabulary_) : 0;
  if (needed > 0 && form_) needed = most_device_candidates;
  return std::min(std::max({1, needed, top_logprobs_}), vocabulary_);
}

// The candidates for the rule if the row's own largest logits have them, else nothing.
std::vector<Candidate> Chooser::few(const LogitRow& row) {
  const auto needed = static_cast<size_t>(adjuster_.idle() ? candidates_needed(rule_, vocabulary_) : 0);
  std::vector<Candidate> ranked;
  for (size_t i = 0; i < row.id.size() && ranked.size() < needed; ++i)
    if (!form_ || form_->allows(row.id[i])) ranked.push_back({row.id[i], row.logit[i]});
  if (ranked.size() < needed) ranked.clear();
  return ranked;
}

std::optional<Choice> Chooser::choose(const LogitRow& row, uint64_t position) {
  std::vector<Candidate> ranked = few(row);
  if (!ranked.empty()) {
    const int32_t token = engine::choose(ranked, rule_, seed_, position);
    return Choice{token, std::ranges::find(ranked, token, &Candidate::id)->logit};
  }
  const std::vector<float> own = row.all();
  std::vector<float> adjusted;
  if (!adjuster_.idle()) {
    adjusted = own;
    adjuster_.apply(adjusted);
  }
  const std::vector<float>& logits = adjuster_.idle() ? own : adjusted;
  std::optional<int32_t> token;
  if (form_) {
    ranked = rank_allowed(logits, rule_, [this](int32_t one) { return form_->allows(one); });
    if (!ranked.empty()) token = engine::choose(ranked, rule_, seed_, position);
  } else {
    token = choose_of_all(logits, rule_, seed_, position);
  }
  if (!token) return std::nullopt;
  return Choice{*token, own[*token]};
}

void Chooser::accept(int32_t token) {
  adjuster_.accept(token);
  if (form_) form_->accept(token);
}

int Chooser::guess_candidates() const {
  constexpr int most_likely = 32;  // of all that a rule may draw from, they have nearly all of the chance
  const int needed = candidates_needed(rule_, vocabulary_);
  return needed ? needed : std::min(most_likely, vocabulary_);
}

int32_t Chooser::guess(const LogitRow& row, uint64_t position) const {
  std::vector<Candidate> ranked;
  for (int i = 0; i < guess_candidates(); ++i) ranked.push_back({row.id[i], row.logit[i]});
  return engine::choose(ranked, rule_, seed_, position);
}

}  // namespace lockstep::engine
