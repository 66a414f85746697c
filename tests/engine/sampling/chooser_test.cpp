#include "engine/sampling/chooser.h"

#include <algorithm>

#include "kernels/kernels.h"
#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

const std::vector<float> logits = {0.5f, 2.0f, 1.0f, 2.0f, -3.0f, 0.0f, -1.0f, 1.5f};

// The row as a device gives it, with so many candidates.
std::optional<Choice> chosen(Chooser& chooser, uint64_t position) {
  std::vector<int32_t> id(logits.size());
  for (size_t i = 0; i < id.size(); ++i) id[i] = static_cast<int32_t>(i);
  std::ranges::stable_sort(id, [](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  id.resize(chooser.candidates_wanted());
  std::vector<float> values;
  for (const int32_t i : id) values.push_back(logits[i]);
  return chooser.choose({id, values, 2.0f, 0.0f, [] { return logits; }}, position);
}
std::optional<Choice> chosen(Chooser&& chooser, uint64_t position) { return chosen(chooser, position); }

Sampling greedy() {
  Sampling s;
  s.temperature = 0;
  return s;
}

Chooser make(const Sampling& s, std::vector<int32_t> prompt = {}) {
  return {s, 7, prompt, static_cast<int>(logits.size())};
}

TEST_CASE("greedy takes the first candidate; its logit is the model's") {
  Chooser chooser = make(greedy());
  CHECK(chooser.candidates_wanted() == 1);
  CHECK(chosen(chooser, 3)->token == 1);
  CHECK(chosen(chooser, 3)->logit == 2.0f);
}

TEST_CASE("F30 a bias of -100 takes a token away, +100 brings it always, others are added") {
  Sampling s = greedy();
  s.logit_bias = {{1, -100}};
  CHECK(chosen(make(s), 0)->token == 3);
  s.logit_bias = {{1, -100}, {3, -0.6f}};
  CHECK(chosen(make(s), 0)->token == 7);
  s.logit_bias = {{4, 100}};
  CHECK(chosen(make(s), 0)->token == 4);
  CHECK(chosen(make(s), 0)->logit == -3.0f);
  s.temperature = 1;
  for (uint64_t position = 0; position < 200; ++position) {
    CHECK(chosen(make(s), position)->token == 4);
    Sampling without = s;
    without.logit_bias = {{1, -100}, {3, -100}};
    without.top_k = 2;
    const int32_t token = chosen(make(without), position)->token;
    CHECK((token == 7 || token == 2));
  }
  s.logit_bias.clear();
  for (int32_t token = 0; token < 8; ++token) s.logit_bias.push_back({token, -100});
  CHECK(!chosen(make(s), 0));
}

TEST_CASE("presence counts once, frequency each time, repetition the prompt too") {
  Sampling s = greedy();
  s.presence_penalty = 0.25f;
  Chooser presence = make(s, {1, 1});
  CHECK(chosen(presence, 0)->token == 1);
  presence.accept(1);
  CHECK(chosen(presence, 0)->token == 3);
  presence.accept(3);
  CHECK(chosen(presence, 0)->token == 1);
  presence.accept(1);
  CHECK(chosen(presence, 0)->token == 1);
  s = greedy();
  s.frequency_penalty = 0.3f;
  Chooser frequency = make(s);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 6; ++i) {
    tokens.push_back(chosen(frequency, 0)->token);
    frequency.accept(tokens.back());
  }
  CHECK(tokens == std::vector<int32_t>{1, 3, 1, 3, 7, 1});
  s = greedy();
  s.repetition_penalty = 2;
  CHECK(chosen(make(s, {1, 3, 7}), 0)->token == 1);  // 1.0, 1.0, 0.75 beside 1.0 of token 2
  CHECK(chosen(make(s, {1, 3, 7, 5}), 0)->token == 1);
  s.logit_bias = {{1, -100}, {3, -100}};
  CHECK(chosen(make(s, {2, 7}), 0)->token == 7);
}

TEST_CASE("penalties follow the canon bit for bit, in its order") {
  Sampling s;
  s.repetition_penalty = 1.3f;
  s.frequency_penalty = 0.7f;
  s.presence_penalty = -0.2f;
  s.logit_bias = {{0, 0.125f}, {4, 1.0f / 3}};
  LogitAdjuster adjuster(s, std::vector<int32_t>{2, 4});
  for (const int32_t token : {0, 0, 0, 4}) adjuster.accept(token);
  std::vector<float> row = logits;
  adjuster.apply(row);
  CHECK(row[0] == (((0.5f / 1.3f) - 3.0f * 0.7f) + 0.2f) + 0.125f);
  CHECK(row[1] == 2.0f);
  CHECK(row[2] == 1.0f / 1.3f);
  CHECK(row[4] == (((-3.0f * 1.3f) - 0.7f) + 0.2f) + 1.0f / 3);
  CHECK(row[6] == -1.0f);
}

TEST_CASE("without penalties all logits and a cut set give the same tokens") {
  Sampling cut;
  cut.temperature = 0.8f;
  cut.top_k = 4;
  Sampling full = cut;
  full.logit_bias = {{0, 0.0f}};
  for (uint64_t position = 0; position < 300; ++position)
    REQUIRE(chosen(make(cut), position)->token == chosen(make(full), position)->token);
}

}  // namespace
