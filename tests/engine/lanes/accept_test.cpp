#include "engine/lanes/accept.h"

#include <cmath>
#include <string>

#include "engine/lanes/token_hash.h"
#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

struct Accepting {
  std::unique_ptr<Lane> operator()(std::vector<int32_t> tokens, const Sampling& sampling = {}) const {
    Job job;
    job.prompt.tokens = std::move(tokens);
    job.sampling = sampling;
    return accept(7, std::move(job), model, tokenizer, {});
  }
  // The error of what is refused.
  RequestError refused(std::vector<int32_t> tokens, const Sampling& sampling = {}) const {
    try {
      (*this)(std::move(tokens), sampling);
    } catch (const RequestError& e) {
      return e;
    }
    return {RequestError::Kind::failed, "taken", "nothing"};
  }

  ModelInfo model = [] {
    ModelInfo info{};
    info.vocabulary = 100;
    info.context = 16;
    return info;
  }();
  Tokenizer tokenizer = Tokenizer::load(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/data/tiny-dense");
};

}  // namespace

TEST_CASE("F18 numbers that make no sense are refused by name") {
  const Accepting accepting;
  const auto field = [&](auto change) {
    Sampling s;
    change(s);
    return accepting.refused({1, 2}, s).field;
  };
  for (const float wrong : {NAN, INFINITY, -1.0f, 100.5f})
    CHECK(field([&](Sampling& s) { s.temperature = wrong; }) == "temperature");
  for (const float wrong : {NAN, 0.0f, 1.5f}) CHECK(field([&](Sampling& s) { s.top_p = wrong; }) == "top_p");
  for (const float wrong : {NAN, -0.5f, 2.0f}) CHECK(field([&](Sampling& s) { s.min_p = wrong; }) == "min_p");
  CHECK(field([](Sampling& s) { s.top_k = -1; }) == "top_k");
  for (const float wrong : {NAN, 0.0f, 101.0f})
    CHECK(field([&](Sampling& s) { s.repetition_penalty = wrong; }) == "repetition_penalty");
  for (const float wrong : {NAN, -2.5f, 2.5f}) {
    CHECK(field([&](Sampling& s) { s.frequency_penalty = wrong; }) == "frequency_penalty");
    CHECK(field([&](Sampling& s) { s.presence_penalty = wrong; }) == "presence_penalty");
  }
  CHECK(field([](Sampling& s) { s.logit_bias = {{-1, 0}}; }) == "logit_bias");
  CHECK(field([](Sampling& s) { s.logit_bias = {{100, 0}}; }) == "logit_bias");
  CHECK(field([](Sampling& s) { s.logit_bias = {{99, NAN}}; }) == "logit_bias");
  CHECK(field([](Sampling& s) { s.max_tokens = -1; }) == "max_tokens");
  for (const int wrong : {-2, 21})
    CHECK(field([&](Sampling& s) { s.top_logprobs = wrong; }) == "top_logprobs");
  CHECK(field([](Sampling& s) { s.stop = {""}; }) == "stop");
  CHECK(field([](Sampling& s) { s.stop.assign(StopMatcher::max_stops + 1, "x"); }) == "stop");
  CHECK(field([](Sampling& s) { s.stop = {std::string(StopMatcher::max_bytes + 1, 'x')}; }) == "stop");
  CHECK(field([](Sampling& s) { s.logit_bias = {{99, -100}}; }) == "nothing");
  CHECK(field([](Sampling&) {}) == "nothing");
}

TEST_CASE("a prompt must have tokens of the vocabulary and leave room for a reply") {
  const Accepting accepting;
  CHECK(accepting.refused({}).field == "messages");
  for (const int32_t wrong : {-1, 100}) {
    const RequestError error = accepting.refused({5, wrong});
    CHECK(error.field == "prompt");
    CHECK_THAT(error.what(), Catch::Contains(std::to_string(wrong)) && Catch::Contains("100"));
  }
  const RequestError error = accepting.refused(std::vector<int32_t>(16, 5));
  CHECK(error.kind == RequestError::Kind::context_overflow);
  CHECK_THAT(error.what(), Catch::Contains("16 tokens"));
  CHECK(accepting(std::vector<int32_t>(15, 5))->most_tokens == 1);
}

TEST_CASE("a lane begins with its prompt, its limit and its seed") {
  const Accepting accepting;
  const auto lane = accepting({3, 4, 5});
  CHECK(lane->id == 7);
  CHECK(lane->tokens == std::vector<int32_t>{3, 4, 5});
  CHECK(lane->pending() == 3);
  CHECK(lane->most_tokens == 13);
  CHECK(lane->reply.prompt_sha == token_sha(lane->tokens));
  CHECK(lane->reply.seed == accepting({3, 4, 5})->reply.seed);
  CHECK(lane->reply.seed != accepting({3, 4, 6})->reply.seed);
  Sampling s;
  s.seed = 40;
  s.choice = 2;
  s.max_tokens = 4;
  CHECK(accepting({3, 4, 5}, s)->reply.seed == 42);
  CHECK(accepting({3, 4, 5}, s)->most_tokens == 4);
}
