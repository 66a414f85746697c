// An engine for tests: says what a script tells it, token by token, on a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace lockstep::test {

struct Script {
  std::vector<engine::Delta> deltas;  // one a token
  engine::Finish finish = engine::Finish::stop;
  int fail_after = -1;                   // deltas after which the job fails
  std::chrono::milliseconds a_token{0};  // before each delta
  std::chrono::milliseconds prefill{0};  // before the first
  bool endless = false;                  // repeats its deltas until cancelled or out of tokens
};

// "Hello", " wor", "ld" …
engine::Delta text(const std::string& content);

class FakeEngine : public engine::Engine {
 public:
  struct Options {
    Script script;
    int lanes = 4, queue = 8, context = 1000;
  };
  explicit FakeEngine(Options options);
  ~FakeEngine() override;

  const engine::ModelInfo& model() const override { return info_; }
  engine::Sampling default_sampling() const override;
  engine::Prompt prepare(const engine::Conversation& conversation) const override;
  std::string render(const engine::Conversation& conversation) const override;
  std::vector<int32_t> tokenize(std::string_view text, bool special = false) const override;
  std::string detokenize(std::span<const int32_t> tokens) const override;
  engine::JobId submit(engine::Job job) override;
  void cancel(engine::JobId id) override;
  engine::Status status() const override;
  void on_beat(std::function<void()> beat) override;
  void on_notice(std::function<void(const engine::Notice&)>) override {}

  // What the last prepare() and submit() got.
  engine::Conversation last_conversation() const;
  engine::Sampling last_sampling() const;
  void set_script(Script script);
  void set_fault(const std::string& text);
  void hang();  // as in a call of a driver that does not return

 private:
  struct Running {
    engine::Job job;
    Script script;
    std::size_t next = 0;  // of the deltas
    int sent = 0;          // tokens
    bool cancelled = false;
    std::chrono::steady_clock::time_point due;
  };

  void loop();
  bool step(engine::JobId id, Running& running);
  engine::Reply reply(const Running& running) const;

  const Options options_;
  engine::ModelInfo info_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  mutable engine::Conversation conversation_;
  engine::Sampling sampling_;
  Script script_;
  std::map<engine::JobId, Running> jobs_;  // the first `lanes` of them run
  engine::JobId last_id_ = 0;
  engine::Status counts_{};
  std::function<void()> beat_;
  bool ending_ = false, hanging_ = false;
  std::thread thread_;
};

}  // namespace lockstep::test
