#include "tests/engine/support/ask.h"

#include <cstring>

namespace lockstep::test {

using namespace engine;

void Collector::progress(int read, int) {
  const std::lock_guard lock(mutex_);
  answer_.last_read = read;
}

void Collector::delta(Delta&& delta) {
  const std::lock_guard lock(mutex_);
  answer_.reasoning += delta.reasoning;
  answer_.content += delta.content;
  if (!delta.content.empty()) answer_.pieces.push_back(delta.content);
  for (Delta::Call& call : delta.calls) answer_.calls.push_back(std::move(call));
  for (TokenLogprob& logprob : delta.logprobs) answer_.logprobs.push_back(std::move(logprob));
  for (TokenLogprob& logprob : delta.prompt) answer_.prompt.push_back(std::move(logprob));
  ++answer_.deltas;
  changed_.notify_all();
}

void Collector::done(Reply&& reply) {
  const std::lock_guard lock(mutex_);
  answer_.reply = std::move(reply);
  changed_.notify_all();
}

void Collector::failed(const RequestError& error) {
  const std::lock_guard lock(mutex_);
  answer_.error = error;
  changed_.notify_all();
}

Answer Collector::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return answer_.reply || answer_.error; });
  return answer_;
}

void Collector::wait_deltas(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return answer_.deltas >= count || answer_.reply || answer_.error; });
}

std::shared_ptr<Collector> begin(Engine& engine, const Prompt& prompt, const Sampling& sampling, JobId* id) {
  auto sink = std::make_shared<Collector>();
  const JobId job = engine.submit({prompt, sampling, sink});
  if (id) *id = job;
  return sink;
}

Answer ask(Engine& engine, const Prompt& prompt, const Sampling& sampling) {
  return begin(engine, prompt, sampling)->wait();
}

Prompt chat(const Engine& engine, const std::string& user) {
  Conversation conversation;
  conversation.messages.push_back({"user", user, {}, {}, {}});
  return engine.prepare(conversation);
}

std::unique_ptr<Engine> open_engine(Options options) {
  return Engine::open(options, [](const std::string&) {});
}

bool same(const Answer& a, const Answer& b) {
  const auto bits = [](float x, float y) { return std::memcmp(&x, &y, sizeof x) == 0; };
  if (!a.reply || !b.reply || a.reply->tokens != b.reply->tokens || a.logprobs.size() != b.logprobs.size())
    return false;
  for (size_t i = 0; i < a.logprobs.size(); ++i) {
    const TokenLogprob &x = a.logprobs[i], &y = b.logprobs[i];
    if (x.token != y.token || !bits(x.logprob, y.logprob) || x.top.size() != y.top.size()) return false;
    for (size_t k = 0; k < x.top.size(); ++k)
      if (x.top[k].token != y.top[k].token || !bits(x.top[k].logprob, y.top[k].logprob)) return false;
  }
  return a.content == b.content && a.reasoning == b.reasoning;
}

}  // namespace lockstep::test
