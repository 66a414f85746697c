#include "engine/check/trial.h"

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <mutex>

namespace lockstep::engine {
namespace {

constexpr int alternatives = 2;

class TrialSink final : public Sink {
 public:
  void progress(int, int) override {}
  void delta(Delta&& delta) override {
    for (const TokenLogprob& token : delta.logprobs) {
      outcome_.logprobs.push_back(token.logprob);
      for (const TokenLogprob::Top& top : token.top) outcome_.logprobs.push_back(top.logprob);
    }
  }
  void done(Reply&& reply) override {
    outcome_.tokens = std::move(reply.tokens);
    outcome_.cached_tokens = reply.cached_tokens;
    end("");
  }
  void failed(const RequestError& error) override { end(error.what()); }

  Outcome wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_; });
    if (!error_.empty())
      throw StartError(StartError::Kind::model, "a request of the check failed: " + error_);
    return std::move(outcome_);
  }

 private:
  void end(const std::string& error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
    over_ = true;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::string error_;
  Outcome outcome_;
};

std::shared_ptr<TrialSink> begin(Engine& engine, const Trial& trial) {
  auto sink = std::make_shared<TrialSink>();
  Job job;
  job.prompt.tokens = trial.tokens;
  job.sampling = trial.sampling;
  job.sink = sink;
  engine.submit(std::move(job));
  return sink;
}

}  // namespace

bool Outcome::operator==(const Outcome& other) const {
  return tokens == other.tokens && std::ranges::equal(logprobs, other.logprobs, [](float a, float b) {
           return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
         });
}

size_t first_difference(const Outcome& one, const Outcome& other) {
  const auto at = std::ranges::mismatch(one.tokens, other.tokens).in1 - one.tokens.begin();
  const auto logprob = std::ranges::mismatch(one.logprobs, other.logprobs).in1 - one.logprobs.begin();
  return std::min<size_t>(at, logprob / (1 + alternatives));
}

std::vector<int32_t> random_tokens(std::mt19937& random, int count, const ModelInfo& model) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % model.vocabulary);
  return tokens;
}

Trial random_trial(std::mt19937& random, int longest, const ModelInfo& model) {
  Trial trial;
  trial.tokens = random_tokens(random, 1 + static_cast<int>(random() % longest), model);
  if (random() % 2)
    for (size_t i = 9; i < trial.tokens.size(); ++i) trial.tokens[i] = trial.tokens[i - 9];
  Sampling& sampling = trial.sampling;
  sampling.temperature = std::array{0.0f, 0.7f, 1.2f}[random() % 3];
  if (random() % 4 == 0) sampling.top_p = 0.9f;
  if (random() % 8 == 0) sampling.frequency_penalty = 0.4f;
  sampling.seed = random();
  sampling.max_tokens = 4 + static_cast<int>(random() % 12);
  sampling.top_logprobs = alternatives;
  sampling.ignore_end = random() % 2;
  return trial;
}

Outcome ask(Engine& engine, const Trial& trial) { return begin(engine, trial)->wait(); }

std::vector<Outcome> ask_all(Engine& engine, const std::vector<Trial>& trials) {
  std::vector<std::shared_ptr<TrialSink>> running;
  for (const Trial& trial : trials) running.push_back(begin(engine, trial));
  std::vector<Outcome> outcomes;
  for (const auto& sink : running) outcomes.push_back(sink->wait());
  return outcomes;
}

}  // namespace lockstep::engine
