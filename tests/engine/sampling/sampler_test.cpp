#include "engine/sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

const std::vector<float> logits = {1.0f, 3.0f, 2.0f, 3.0f, -1.0f, 0.5f};

std::map<int32_t, int> draws(const SamplingRule& rule, int count) {
  const std::vector<Candidate> ranked = rank_all(logits, rule.temperature);
  std::map<int32_t, int> seen;
  for (int i = 0; i < count; ++i) ++seen[choose(ranked, rule, 7, i)];
  return seen;
}

}  // namespace

TEST_CASE("greedy takes the largest logit, ties to the lower id") {
  CHECK(choose(rank_all(logits, 0), {}, 1, 1) == 1);
  CHECK(candidates_needed({}, 100) == 1);
}

TEST_CASE("draws follow the softmax") {
  const int count = 20000;
  const auto seen = draws({.temperature = 0.8f}, count);
  double total = 0;
  for (float logit : logits) total += std::exp(logit / 0.8);
  for (size_t id = 0; id < logits.size(); ++id) {
    const double p = std::exp(logits[id] / 0.8) / total;
    const double found = double(seen.contains(id) ? seen.at(id) : 0) / count;
    CHECK(std::abs(found - p) < 4 * std::sqrt(p * (1 - p) / count) + 1e-4);
  }
}

TEST_CASE("top_k, top_p and min_p cut the ranking") {
  const auto ids = [](const SamplingRule& rule) {
    std::vector<int32_t> list;
    for (auto [id, count] : draws(rule, 4000)) list.push_back(id);
    return list;
  };
  CHECK(ids({.temperature = 1, .top_k = 3}) == std::vector<int32_t>{1, 2, 3});
  CHECK(ids({.temperature = 1, .top_k = 1}) == std::vector<int32_t>{1});
  // Shares: 0.37, 0.37, 0.14, 0.05, 0.03 … of 1 and 3, then 2, 0, 5.
  CHECK(ids({.temperature = 1, .top_p = 0.3f}) == std::vector<int32_t>{1});
  CHECK(ids({.temperature = 1, .top_p = 0.5f}) == std::vector<int32_t>{1, 3});
  CHECK(ids({.temperature = 1, .top_p = 0.8f}) == std::vector<int32_t>{1, 2, 3});
  CHECK(ids({.temperature = 1, .min_p = 0.3f}) == std::vector<int32_t>{1, 2, 3});
}

TEST_CASE("a draw is a function of seed and position alone") {
  const SamplingRule rule{.temperature = 1.5f, .top_k = 6};
  const std::vector<Candidate> ranked = rank_all(logits, rule.temperature);
  std::vector<int32_t> first, second, other;
  for (int i = 0; i < 64; ++i) {
    first.push_back(choose(ranked, rule, 42, i));
    other.push_back(choose(ranked, rule, 43, i));
  }
  for (int i = 63; i >= 0; --i) second.insert(second.begin(), choose(ranked, rule, 42, i));
  CHECK(first == second);
  CHECK(first != other);
}

TEST_CASE("the ranking of a cut set and of all logits give the same draws") {
  const SamplingRule rule{.temperature = 0.9f, .top_k = 4, .top_p = 0.95f};
  std::vector<Candidate> all = rank_all(logits, rule.temperature);
  std::vector<Candidate> cut(all.begin(), all.begin() + candidates_needed(rule, 6));
  for (int i = 0; i < 500; ++i) REQUIRE(choose(all, rule, 9, i) == choose(cut, rule, 9, i));
}

TEST_CASE("a choice of all logits is the one of their whole ranking") {
  constexpr unsigned seed = 11;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 6);
  for (int trial = 0; trial < 600; ++trial) {
    std::vector<float> some(400);
    for (float& logit : some) {
      logit = normal(random);
      if (trial % 3 == 0) logit = std::round(logit);  // ties
      if (random() % 16 == 0) logit = -INFINITY;
    }
    SamplingRule rule;
    rule.temperature = std::array{0.0f, 0.01f, 0.3f, 0.7f, 1.0f, 3.0f}[trial % 6];
    rule.top_p = std::array{1.0f, 0.999f, 0.9f, 0.3f, 0.0f}[random() % 5];
    rule.min_p = std::array{0.0f, 0.0f, 1e-9f, 0.2f, 1.0f}[random() % 5];
    rule.top_k = std::array{0, 0, 0, 7}[random() % 4];
    std::vector<Candidate> ranked;
    for (int i = 0; i < 400; ++i) ranked.push_back({i, some[i]});
    std::ranges::stable_sort(ranked,
                             [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; });
    for (uint64_t position = 0; position < 8; ++position) {
      const int32_t wanted = choose(ranked, rule, trial, position);
      INFO("trial " << trial << ", position " << position);
      REQUIRE(choose_of_all(some, rule, trial, position) == wanted);
      REQUIRE(choose(rank_all(some, rule.temperature), rule, trial, position) == wanted);
    }
  }
  CHECK(!choose_of_all(std::vector<float>(5, -INFINITY), {.temperature = 1}, 1, 1));
}

TEST_CASE("F18 the sampler survives any temperature and logits of -inf") {
  const std::vector<float> one = {-INFINITY, 2.0f, -INFINITY};
  for (float temperature : {1e-30f, 1.0f, 100.0f}) {
    const auto ranked = rank_all(one, temperature);
    CHECK(choose(ranked, {.temperature = temperature}, 1, 1) == 1);
    CHECK(choose_of_all(one, {.temperature = temperature}, 1, 1) == 1);
  }
}
