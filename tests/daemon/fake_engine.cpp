#include "tests/daemon/fake_engine.h"

#include <algorithm>

namespace lockstep::test {

using std::chrono::steady_clock;
using Kind = engine::RequestError::Kind;

engine::Delta text(const std::string& content) {
  engine::Delta delta;
  delta.content = content;
  return delta;
}

FakeEngine::FakeEngine(Options options) : options_(std::move(options)), script_(options_.script) {
  info_ = {"fake",     "test", std::string(64, 'f'), 1, options_.context, 256,
           1700000000, "cpu",  "a test's CPU",       {}};
  thread_ = std::thread([this] { loop(); });
}

FakeEngine::~FakeEngine() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

engine::Sampling FakeEngine::default_sampling() const {
  engine::Sampling sampling;
  sampling.temperature = 0.6f;
  sampling.top_k = 20;
  sampling.top_p = 0.95f;
  return sampling;
}

// A token a byte of the messages.
engine::Prompt FakeEngine::prepare(const engine::Conversation& conversation) const {
  engine::Prompt prompt;
  for (const engine::Message& message : conversation.messages) {
    if (message.content == "refuse me")
      throw engine::RequestError(Kind::invalid, "the template refuses this conversation", "messages");
    const std::vector<int32_t> tokens = tokenize(message.role + ":" + message.content + "\n");
    prompt.tokens.insert(prompt.tokens.end(), tokens.begin(), tokens.end());
  }
  prompt.chat = true;
  prompt.tools = conversation.tools;
  // Whoever asks for a schema with "not" is told that it is not held to.
  if (conversation.form.schema.find("\"not\"") != std::string::npos) {
    if (conversation.form.strict)
      throw engine::RequestError(Kind::invalid, "'not' is not enforced", "schema");
    prompt.unenforced = {"not"};
  }
  const std::lock_guard lock(mutex_);
  conversation_ = conversation;
  return prompt;
}

std::string FakeEngine::render(const engine::Conversation& conversation) const {
  return detokenize(prepare(conversation).tokens);
}

// "<s>" is the one special token.
std::vector<int32_t> FakeEngine::tokenize(std::string_view text, bool special) const {
  std::vector<int32_t> tokens;
  if (special && text.starts_with("<s>")) {
    tokens.push_back(0);
    text.remove_prefix(3);
  }
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string FakeEngine::detokenize(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) text += static_cast<char>(token);
  return text;
}

engine::JobId FakeEngine::submit(engine::Job job) {
  const int length = static_cast<int>(job.prompt.tokens.size());
  if (length >= info_.context)
    throw engine::RequestError(Kind::context_overflow, "the prompt has " + std::to_string(length) +
                                                           " tokens, but a request may use " +
                                                           std::to_string(info_.context));
  const std::lock_guard lock(mutex_);
  if (static_cast<int>(jobs_.size()) >= options_.lanes + options_.queue) {
    ++counts_.refused;
    throw engine::RequestError(Kind::busy, "too many requests are waiting; try again later");
  }
  sampling_ = job.sampling;
  jobs_[++last_id_] = {std::move(job), script_, 0, 0, false, steady_clock::now() + script_.prefill};
  changed_.notify_all();
  return last_id_;
}

void FakeEngine::cancel(engine::JobId id) {
  const std::lock_guard lock(mutex_);
  if (const auto job = jobs_.find(id); job != jobs_.end()) job->second.cancelled = true;
  changed_.notify_all();
}

engine::Status FakeEngine::status() const {
  const std::lock_guard lock(mutex_);
  engine::Status status = counts_;
  status.active = std::min(options_.lanes, static_cast<int>(jobs_.size()));
  status.queued = static_cast<int>(jobs_.size()) - status.active;
  return status;
}

void FakeEngine::on_beat(std::function<void()> beat) {
  const std::lock_guard lock(mutex_);
  beat_ = std::move(beat);
}

engine::Conversation FakeEngine::last_conversation() const {
  const std::lock_guard lock(mutex_);
  return conversation_;
}

engine::Sampling FakeEngine::last_sampling() const {
  const std::lock_guard lock(mutex_);
  return sampling_;
}

void FakeEngine::set_script(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void FakeEngine::set_fault(const std::string& text) {
  const std::lock_guard lock(mutex_);
  counts_.fault = text;
}

void FakeEngine::hang() {
  const std::lock_guard lock(mutex_);
  hanging_ = true;
}

void FakeEngine::loop() {
  auto beaten = steady_clock::time_point{};
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, std::chrono::milliseconds(1));
    if (hanging_) continue;
    int lane = 0;
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      const bool running = lane++ < options_.lanes || job->second.cancelled;
      const bool over = running && step(job->first, job->second);
      job = over ? jobs_.erase(job) : std::next(job);
    }
    if (const auto now = steady_clock::now(); beat_ && now - beaten > std::chrono::milliseconds(100)) {
      beaten = now;
      const auto beat = beat_;
      lock.unlock();
      beat();
      lock.lock();
    }
  }
  for (auto& [id, running] : jobs_) running.job.sink->failed({Kind::cancelled, "the engine is stopping"});
}

// One token of a job. True: it is over.
bool FakeEngine::step(engine::JobId, Running& running) {
  engine::Sink& sink = *running.job.sink;
  if (running.cancelled) {
    ++counts_.cancelled;
    sink.failed({Kind::cancelled, "cancelled"});
    return true;
  }
  const int prompt = static_cast<int>(running.job.prompt.tokens.size());
  if (steady_clock::now() < running.due) {
    sink.progress(prompt / 2, prompt);
    return false;
  }
  const Script& script = running.script;
  if (running.sent == script.fail_after) {
    ++counts_.failed;
    sink.failed({Kind::failed, "a logit is not a number"});
    return true;
  }
  const int most = running.job.sampling.max_tokens;
  const bool cut = most > 0 && running.sent >= most;
  const bool said = running.next >= script.deltas.size();
  if (said && script.endless && !cut) running.next = 0;
  if (cut || (said && !script.endless)) {
    ++counts_.served;
    engine::Reply over = reply(running);
    if (cut && !said) over.finish = engine::Finish::length;
    sink.done(std::move(over));
    return true;
  }
  sink.delta(engine::Delta(script.deltas[running.next++]));
  ++running.sent;
  running.due = steady_clock::now() + script.a_token;
  return false;
}

engine::Reply FakeEngine::reply(const Running& running) const {
  engine::Reply reply;
  reply.finish = running.script.finish;
  reply.prompt_tokens = static_cast<int>(running.job.prompt.tokens.size());
  reply.cached_tokens = 3;
  reply.reasoning_tokens = 1;
  for (int i = 0; i < running.sent; ++i) reply.tokens.push_back(i);
  reply.token_sha = "0123456789abcdef" + std::string(48, '0');
  reply.seed = running.job.sampling.seed.value_or(77) + static_cast<uint64_t>(running.job.sampling.choice);
  reply.queue_seconds = 0.001;
  reply.prompt_seconds = 0.25;
  reply.decode_seconds = 0.5;
  return reply;
}

}  // namespace lockstep::test
