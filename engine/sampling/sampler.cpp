#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

uint64_t weight_of(float logit, float maximum, float temperature) {
  const float p = kernels::canon::exp((logit - maximum) / temperature);
  return static_cast<uint64_t>(std::rint(static_cast<double>(p) * 4294967296.0));
}

__extension__ using Wide = unsigned __int128;

uint64_t high_product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
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
  for (size_t i = 0; i < logits.size(); ++i)
    if (temperature == 0 ? logits[i] == maximum : weight_of(logits[i], maximum, temperature) > 0)
      ranked.push_back({static_cast<int32_t>(i), logits[i]});
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

  struct Weighted {
    int32_t id;
    uint64_t weight;
  };
  std::vector<Weighted> kept;
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    kept.push_back({ranked[i].id, weight_of(ranked[i].logit, maximum, rule.temperature)});
    total += kept.back().weight;
  }
  // top_p: the shortest run of the ranking that holds the share; min_p: a share of the largest weight.
  const auto share =
      static_cast<uint64_t>(std::ceil(static_cast<double>(rule.top_p) * static_cast<double>(total)));
  const auto least =
      static_cast<uint64_t>(std::ceil(static_cast<double>(rule.min_p) * static_cast<double>(kept[0].weight)));
  uint64_t sum = 0;
  size_t end = 0;
  while (end < kept.size() && (end == 0 || (sum < share && kept[end].weight >= least)))
    sum += kept[end++].weight;
  kept.resize(end);

  std::ranges::sort(kept, {}, &Weighted::id);
  const uint64_t random = kernels::canon::philox_bits(seed, position);
  const uint64_t draw = high_product(random, sum);
  uint64_t running = 0;
  for (const Weighted& candidate : kept) {
    running += candidate.weight;
    if (running > draw) return candidate.id;
  }
  return kept.back().id;
}

}  // namespace lockstep::engine
