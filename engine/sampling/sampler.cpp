#include "engine/sampling/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

// Of the exp of a logit, at most 1: rint(2^32 * share). Adding 2^52 rounds to a whole number, which then is
// in the lowest bits; std::rint is a call on older processors.
uint64_t weight_of(float share) {
  return std::bit_cast<uint64_t>(static_cast<double>(share) * 0x1p32 + 0x1p52) & 0xfffffffffffff;
}
uint64_t weight_of(float logit, float maximum, float temperature) {
  return weight_of(kernels::canon::exp((logit - maximum) / temperature));
}

__extension__ using Wide = unsigned __int128;

uint64_t high_product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

struct Weighted {
  int32_t id;
  float logit;
  uint64_t weight;
};

// top_p: the shortest run of the ranking that holds the share; min_p: a share of the largest weight.
class Cut {
 public:
  Cut(const SamplingRule& rule, uint64_t total, uint64_t most)
      : share_(
            static_cast<uint64_t>(std::ceil(static_cast<double>(rule.top_p) * static_cast<double>(total)))),
        least_(
            static_cast<uint64_t>(std::ceil(static_cast<double>(rule.min_p) * static_cast<double>(most)))) {}
  // Whether the run goes on after a sum of weights with such a one. The first is always kept.
  bool keeps(uint64_t sum, uint64_t weight) const { return sum < share_ && weight >= least_; }
  // Whether all that weighs anything is kept.
  bool nothing(uint64_t total) const { return share_ >= total && least_ <= 1; }

 private:
  uint64_t share_, least_;
};

// `kept`: by id, of weight `sum`.
int32_t draw(std::span<const Weighted> kept, uint64_t sum, uint64_t seed, uint64_t position) {
  const uint64_t point = high_product(kernels::canon::philox_bits(seed, position), sum);
  uint64_t running = 0;
  for (const Weighted& candidate : kept) {
    running += candidate.weight;
    if (running > point) return candidate.id;
  }
  return kept.back().id;
}

// The logits that weigh anything, by id. `maximum`: of all, finite.
std::vector<Weighted> weighted(std::span<const float> logits, float maximum, float temperature) {
  // exp(-23) * 2^32 is 0.44, which rounds to nothing: no exp for most of a vocabulary.
  const double nothing = static_cast<double>(maximum) - 23.5 * static_cast<double>(temperature);
  std::vector<int32_t> id(logits.size());
  std::vector<float> logit(logits.size()), share(logits.size());
  size_t count = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    id[count] = static_cast<int32_t>(i);
    logit[count] = logits[i];
    count += static_cast<double>(logits[i]) >= nothing;
  }
  kernels::scaled_exp(std::span(logit).first(count), maximum, temperature, share.data());
  std::vector<Weighted> some(count);
  for (size_t i = 0; i < count; ++i) some[i] = {id[i], logit[i], weight_of(share[i])};
  std::erase_if(some, [](const Weighted& one) { return one.weight == 0; });
  return some;
}

}  // namespace

int candidates_needed(const SamplingRule& rule, int vocabulary) {
  if (rule.temperature == 0) return 1;
  if (rule.top_k > 0 && rule.top_k <= std::min(vocabulary, kernels::most_candidates)) return rule.top_k;
  return 0;
}

std::vector<Candidate> rank_all(std::span<const float> logits, float temperature) {
  const float maximum = *std::max_element(logits.begin(), logits.end());
  std::vector<Candidate> ranked;
  if (maximum == -std::numeric_limits<float>::infinity()) return ranked;
  if (temperature > 0) {
    for (const Weighted& one : weighted(logits, maximum, temperature)) ranked.push_back({one.id, one.logit});
  } else {
    for (size_t i = 0; i < logits.size(); ++i)
      if (logits[i] == maximum) ranked.push_back({static_cast<int32_t>(i), maximum});
  }
  std::ranges::sort(ranked, [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  });
  return ranked;
}

std::vector<Candidate> rank_allowed(std::span<const float> logits, const SamplingRule& rule,
                                    const std::function<bool(int32_t)>& allows) {
  std::vector<Candidate> heap, ranked;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] != -std::numeric_limits<float>::infinity())
      heap.push_back({static_cast<int32_t>(i), logits[i]});
  const auto lower = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit < b.logit : a.id > b.id;
  };
  std::ranges::make_heap(heap, lower);
  const size_t most = rule.temperature == 0 ? 1
                      : rule.top_k > 0      ? static_cast<size_t>(rule.top_k)
                                            : heap.size();
  while (!heap.empty() && ranked.size() < most) {
    const Candidate best = heap.front();
    std::ranges::pop_heap(heap, lower);
    heap.pop_back();
    if (!ranked.empty() && weight_of(best.logit, ranked[0].logit, rule.temperature) == 0) break;
    if (allows(best.id)) ranked.push_back(best);
  }
  return ranked;
}

int32_t choose(std::span<const Candidate> ranked, const SamplingRule& rule, uint64_t seed,
               uint64_t position) {
  if (rule.temperature == 0) return ranked[0].id;
  const float maximum = ranked[0].logit;
  size_t count = ranked.size();
  if (rule.top_k > 0) count = std::min(count, static_cast<size_t>(rule.top_k));

  std::vector<Weighted> kept;
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    kept.push_back({ranked[i].id, ranked[i].logit, weight_of(ranked[i].logit, maximum, rule.temperature)});
    total += kept.back().weight;
  }
  const Cut cut(rule, total, kept[0].weight);
  uint64_t sum = 0;
  size_t end = 0;
  while (end < kept.size() && (end == 0 || cut.keeps(sum, kept[end].weight))) sum += kept[end++].weight;
  kept.resize(end);
  std::ranges::sort(kept, {}, &Weighted::id);
  return draw(kept, sum, seed, position);
}

std::optional<int32_t> choose_of_all(std::span<const float> logits, const SamplingRule& rule, uint64_t seed,
                                     uint64_t position) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (*best == -std::numeric_limits<float>::infinity()) return std::nullopt;
  if (rule.temperature == 0) return static_cast<int32_t>(best - logits.begin());
  if (rule.top_k > 0) return choose(rank_all(logits, rule.temperature), rule, seed, position);

  std::vector<Weighted> kept = weighted(logits, *best, rule.temperature);
  uint64_t total = 0;
  for (const Weighted& one : kept) total += one.weight;
  const uint64_t most = weight_of(*best, *best, rule.temperature);
  const Cut cut(rule, total, most);
  if (cut.nothing(total)) return draw(kept, total, seed, position);
  // As choose(), with no more of them ranked than the cut leaves.
  const auto lower = [](const Weighted& a, const Weighted& b) {
    return a.logit != b.logit ? a.logit < b.logit : a.id > b.id;
  };
  std::ranges::make_heap(kept, lower);
  std::vector<Weighted> chosen;
  uint64_t sum = 0;
  while (!kept.empty() && (chosen.empty() || cut.keeps(sum, kept.front().weight))) {
    std::ranges::pop_heap(kept, lower);
    chosen.push_back(kept.back());
    sum += kept.back().weight;
    kept.pop_back();
  }
  std::ranges::sort(chosen, {}, &Weighted::id);
  return draw(chosen, sum, seed, position);
}

}  // namespace lockstep::engine
