// Asks an engine and waits for the whole answer.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/engine.h"

namespace lockstep::test {

// Everything a sink was given.
struct Answer {
  std::string reasoning, content;
  std::vector<engine::Delta::Call> calls;
  std::vector<engine::TokenLogprob> logprobs, prompt;
  std::vector<std::string> pieces;  // content, as it came
  int deltas = 0;
  int last_read = 0;
  std::optional<engine::Reply> reply;
  std::optional<engine::RequestError> error;
};

class Collector final : public engine::Sink {
 public:
  void progress(int read, int) override;
  void delta(engine::Delta&&) override;
  void done(engine::Reply&&) override;
  void failed(const engine::RequestError&) override;

  Answer wait();                // for the last call
  void wait_deltas(int count);  // for so many deltas, or the last call

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Answer answer_;
};

// Submits without waiting.
std::shared_ptr<Collector> begin(engine::Engine&, const engine::Prompt&, const engine::Sampling&,
                                 engine::JobId* id = nullptr);
Answer ask(engine::Engine&, const engine::Prompt&, const engine::Sampling&);

engine::Prompt chat(const engine::Engine&, const std::string& user);
std::unique_ptr<engine::Engine> open_engine(engine::Options);

// Token ids, log-probabilities and alternatives equal bit for bit.
bool same(const Answer&, const Answer&);

}  // namespace lockstep::test
