#include "engine/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>
#include <thread>

#include "engine/chat/chat_format.h"
#include "engine/files/checkpoint.h"
#include "engine/lanes/inbox.h"
#include "engine/lanes/runner.h"
#include "engine/lanes/token_hash.h"
#include "engine/memory/budget.h"
#include "engine/models/forward.h"
#include "engine/sampling/form/form.h"
#include "engine/snapshots/store.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {
namespace {

void check(const Sampling& s, int vocabulary) {
  const auto refuse = [](const char* field, const std::string& text) {
    throw RequestError(RequestError::Kind::invalid, text, field);
  };
  if (!(s.temperature >= 0 && s.temperature <= 100))
    refuse("temperature", "temperature must be between 0 and 100");
  if (!(s.top_p > 0 && s.top_p <= 1)) refuse("top_p", "top_p must be above 0 and at most 1");
  if (!(s.min_p >= 0 && s.min_p <= 1)) refuse("min_p", "min_p must be between 0 and 1");
  if (s.top_k < 0) refuse("top_k", "top_k must not be negative (0 turns it off)");
  if (!(s.repetition_penalty >= 0.01f && s.repetition_penalty <= 100))
    refuse("repetition_penalty", "repetition_penalty must be between 0.01 and 100 (1 turns it off)");
  if (!(std::fabs(s.frequency_penalty) <= 2))
    refuse("frequency_penalty", "frequency_penalty must be between -2 and 2");
  if (!(std::fabs(s.presence_penalty) <= 2))
    refuse("presence_penalty", "presence_penalty must be between -2 and 2");
  for (const auto& [token, bias] : s.logit_bias) {
    if (token < 0 || token >= vocabulary)
      refuse("logit_bias", "logit_bias names the token " + std::to_string(token) +
                               ", but the vocabulary ends at " + std::to_string(vocabulary - 1));
    if (!(std::fabs(bias) <= 100)) refuse("logit_bias", "a bias of logit_bias must be between -100 and 100");
  }
  if (s.max_tokens < 0) refuse("max_tokens", "max_tokens must not be negative");
  if (s.top_logprobs < -1 || s.top_logprobs > 20)
    refuse("top_logprobs", "top_logprobs must be between 0 and 20");
  if (s.stop.size() > StopMatcher::max_stops)
    refuse("stop", "at most " + std::to_string(StopMatcher::max_stops) + " stop strings are taken");
  for (const std::string& stop : s.stop)
    if (stop.empty() || stop.size() > StopMatcher::max_bytes)
      refuse("stop", "a stop string must have 1 to " + std::to_string(StopMatcher::max_bytes) + " bytes");
}

class RealEngine final : public Engine {
 public:
  RealEngine(const Options& options, const std::function<void(const std::string&)>& progress)
      : checkpoint_(Checkpoint::open(options.model)),
        tokenizer_(Tokenizer::load(options.model)),
        format_(ChatFormat::load(options.model)),
        device_(kernels::open_device(options.device, options.threads)),
        inbox_(options.queue) {
    const ModelConfig& config = checkpoint_.config();
    if (tokenizer_.size() > config.vocabulary)
      throw CheckpointError(
          "tokenizer.json has tokens beyond vocab_size of config.json; they belong to different models");
    describe(options);
    progress("device: " + info_.device + " (" + info_.device_description + ")");
    load(options, progress);
  }
  ~RealEngine() override {
    inbox_.stop();
    if (thread_.joinable()) thread_.join();
  }

  // Runs the engine's thread and proves that a token can be had.
  void start() {
    thread_ = std::thread([this] { loop(); });
    struct First : Sink {
      std::mutex mutex;
      std::condition_variable changed;
      bool over = false;
      std::string error;
      void end(const std::string& text) {
        const std::lock_guard lock(mutex);
        error = text;
        over = true;
        changed.notify_one();
      }
      void progress(int, int) override {}
      void delta(Delta&&) override {}
      void done(Reply&&) override { end(""); }
      void failed(const RequestError& e) override { end(e.what()); }
    };
    const auto first = std::make_shared<First>();
    Job job;
    job.prompt.tokens = {0};
    job.sampling.temperature = 0;
    job.sampling.max_tokens = 1;
    job.sink = first;
    submit(std::move(job));
    std::unique_lock lock(first->mutex);
    first->changed.wait(lock, [&] { return first->over; });
    if (!first->error.empty())
      throw StartError(StartError::Kind::model, "no token could be produced: " + first->error);
  }

  const ModelInfo& model() const override { return info_; }
  Sampling default_sampling() const override {
    const ModelConfig& config = checkpoint_.config();
    Sampling s;
    s.temperature = config.temperature.value_or(s.temperature);
    s.top_p = config.top_p.value_or(s.top_p);
    s.min_p = config.min_p.value_or(s.min_p);
    s.top_k = config.top_k.value_or(s.top_k);
    return s;
  }

  Prompt prepare(const Conversation& conversation) const override {
    try {
      const MarkedText text = format_.render(conversation);
      Prompt prompt{tokenizer_.encode(text),       false, true, conversation.tools,
                    conversation.form.single_call, {},    {}};
      const size_t open = text.text.rfind("<think>"), closed = text.text.rfind("</think>");
      prompt.in_reasoning = open != std::string::npos && (closed == std::string::npos || closed < open) &&
                            text.text.find_first_not_of(" \n", open + 7) == std::string::npos;
      Form form =
          compile_form(conversation.form, conversation.tools,
                       format_.calls_in_json() ? CallStyle::json : CallStyle::tagged, prompt.in_reasoning);
      prompt.form = std::move(form.grammar);
      prompt.unenforced = std::move(form.unenforced);
      return prompt;
    } catch (const FormRefused& e) {
      throw RequestError(RequestError::Kind::invalid, e.what(), e.field);
    } catch (const TemplateError& e) {
      throw RequestError(RequestError::Kind::invalid, e.what(), "messages");
    }
  }
  std::string render(const Conversation& conversation) const override {
    try {
      return format_.render(conversation).text;
    } catch (const TemplateError& e) {
      throw RequestError(RequestError::Kind::invalid, e.what(), "messages");
    }
  }
  std::vector<int32_t> tokenize(std::string_view text, bool special) const override {
    return tokenizer_.encode(text, special);
  }
  std::string detokenize(std::span<const int32_t> ids) const override {
    return tokenizer_.decode(ids, false);
  }

  JobId submit(Job job) override {
    check(job.sampling, info_.vocabulary);
    const std::vector<int32_t>& tokens = job.prompt.tokens;
    const int length = static_cast<int>(tokens.size());
    if (tokens.empty()) throw RequestError(RequestError::Kind::invalid, "the prompt is empty", "messages");
    for (int32_t token : tokens)
      if (token < 0 || token >= info_.vocabulary)
        throw RequestError(RequestError::Kind::invalid,
                           "token " + std::to_string(token) + " is not in the vocabulary of " +
                               std::to_string(info_.vocabulary),
                           "prompt");
    if (length >= info_.context)
      throw RequestError(RequestError::Kind::context_overflow,
                         "the prompt has " + std::to_string(length) + " tokens, but a request may use " +
                             std::to_string(info_.context) + " with its reply; shorten the prompt");
    const Sampling s = job.sampling;
    auto lane = std::make_unique<Lane>();
    lane->id = ++last_id_;
    lane->writer.emplace(tokenizer_, job.prompt, s.stop);
    lane->job = std::move(job);
    const int room = info_.context - length;
    lane->most_tokens = s.max_tokens ? std::min(s.max_tokens, room) : room;
    lane->tokens = lane->job.prompt.tokens;
    lane->copies.extend(lane->tokens);
    lane->reply.prompt_sha = token_sha(lane->tokens);
    lane->reply.seed = s.seed.value_or(seed_from_tokens(lane->tokens)) + static_cast<uint64_t>(s.choice);
    std::optional<FormFilter> form;
    if (lane->job.prompt.form)
      form.emplace(lane->job.prompt.form, tokenizer_, checkpoint_.config().end_tokens);
    lane->chooser.emplace(s, lane->reply.seed, lane->tokens, info_.vocabulary, std::move(form));
    lane->arrived = Clock::now();
    const JobId id = lane->id;
    switch (inbox_.submit(lane)) {
      case Inbox::Answer::taken: return id;
      case Inbox::Answer::closed:
        throw RequestError(RequestError::Kind::failed, "the engine has stopped: " + status().fault);
      case Inbox::Answer::full: ++refused_;
    }
    throw RequestError(RequestError::Kind::busy, "too many requests are waiting; try again later");
  }
  void cancel(JobId id) override { inbox_.cancel(id); }
  Status status() const override {
    const std::lock_guard lock(status_mutex_);
    Status status = status_;
    status.refused = refused_;
    return status;
  }
  void on_beat(std::function<void()> beat) override {
    const std::lock_guard lock(status_mutex_);
    beat_ = std::move(beat);
  }
  void on_notice(std::function<void(const Notice&)> notice) override {
    std::vector<Notice> before;
    {
      const std::lock_guard lock(status_mutex_);
      notice_ = notice;
      before.swap(early_notices_);
    }
    for (const Notice& one : before) notice(one);
  }

 private:
  void tell(const Notice& one) {
    std::function<void(const Notice&)> notice;
    {
      const std::lock_guard lock(status_mutex_);
      notice = notice_;
      if (!notice && !one.detail) early_notices_.push_back(one);
    }
    if (notice) notice(one);
  }

  void describe(const Options& options) {
    const ModelConfig& config = checkpoint_.config();
    const std::filesystem::path directory = std::filesystem::canonical(options.model);
    struct stat file {};
    stat((directory / "config.json").c_str(), &file);
    info_.name = directory.filename();
    info_.family = config.model_type;
    info_.canon_version = kernels::canon_version;
    info_.vocabulary = config.vocabulary;
    info_.created = file.st_mtime;
    info_.device = device_->name();
    info_.device_description = device_->description();
    info_.context = options.context ? options.context : config.max_positions;
    if (info_.context > config.max_positions)
      throw StartError(StartError::Kind::model,
                       "context is set to " + std::to_string(options.context) + " but the model ends at " +
                           std::to_string(config.max_positions) + " positions; lower it");
  }

  void load(const Options& options, const std::function<void(const std::string&)>& progress) {
    const ModelConfig& config = checkpoint_.config();
    const uint64_t budget = options.memory ? options.memory : memory_share(device_->free_memory());
    const auto too_little = [&](uint64_t wanted, const std::string& for_what) {
      throw StartError(StartError::Kind::memory, "the model needs " + in_words(wanted) + " for " + for_what +
                                                     " but the memory budget is " + in_words(budget) +
                                                     "; raise memory, or lower context or lanes");
    };
    info_.fingerprint = checkpoint_.fingerprint();
    weights_ = load_weights(*device_, checkpoint_, [](int) {});
    const Capacity capacity = serving_capacity(options.chunk, options.lanes, info_.context);
    const int lane_pages = capacity.lane_pages;
    forward_ = std::make_unique<Forward>(*device_, config, weights_, capacity);
    info_.footprint = forward_->footprint();
    const uint64_t state = forward_->state_bytes(), page = forward_->page_bytes();
    Identity identity{info_.fingerprint, "", info_.canon_version, page, state};
    const uint64_t buffers = options.snapshots.empty() ? 0 : SnapshotStore::buffer_bytes(identity);
    const uint64_t fixed = weights_.bytes + forward_->scratch_bytes() + state * options.lanes + buffers;
    const auto [least, cache_slots, cache_pages, lanes_pages] =
        divide({budget, fixed, state, page, lane_pages, options.lanes, options.cache});
    if (least > budget)
      too_little(least, "its weights, one request of " + std::to_string(info_.context) +
                            " positions and the prompt cache");
    forward_->allocate(options.lanes + cache_slots, lanes_pages + cache_pages);
    if (!options.snapshots.empty()) {
      identity.layout =
          layout_of(*device_, *forward_, config.vocabulary, std::min(options.chunk, lane_pages * 64));
      open_store(options, identity, progress);
    }
    runner_ = std::make_unique<Runner>(*device_, config, tokenizer_, *forward_,
                                       Runner::Limits{options.lanes, options.chunk, info_.context, draft_rows,
                                                      lanes_pages + cache_pages, cache_slots, cache_pages},
                                       store_.get(), [this](const Notice& notice) { tell(notice); });
    while (runner_->make_ready()) {
    }
    runner_->measure();
    page_bytes_ = page;
    state_bytes_ = state;
    const uint64_t states = state * options.lanes;
    status_.memory = {{"weights", weights_.bytes, weights_.bytes},
                      {"kv_pages", page * lanes_pages, 0},
                      {"states", states, states},
                      {"prompt_cache", state * cache_slots + page * cache_pages, 0},
                      {"scratch", forward_->scratch_bytes(), forward_->scratch_bytes()}};
    if (buffers) status_.memory.push_back({"snapshot_buffers", buffers, 0});
    std::string line = "memory: ";
    for (const Status::Pool& pool : status_.memory) line += pool.name + " " + in_words(pool.bytes) + ", ";
    progress(line + "of a budget of " + in_words(budget));
  }

  // Without one if the directory cannot be had.
  void open_store(const Options& options, const Identity& identity,
                  const std::function<void(const std::string&)>& progress) {
    const std::string place = options.snapshots.string();
    try {
      store_ = std::make_unique<SnapshotStore>(
          options.snapshots, options.snapshot_budget, identity,
          [this](const std::string& text) {
            tell({false, text});
          },
          [this] { inbox_.wake(); });
      progress(store_->summary());
    } catch (const WriteFailure& failure) {
      tell({false,
            "snapshots: " +
                (failure.error == EWOULDBLOCK ? place + " is in use by another daemon"
                                              : place + " cannot be written (" +
                                                    std::generic_category().message(failure.error) + ")") +
                "; conversations will not be kept for a restart"});
    }
    status_.snapshots.on = store_ != nullptr;
    status_.snapshots.budget = options.snapshot_budget;
  }

  void loop() {
    using namespace std::chrono_literals;
    auto beaten = Clock::time_point{};
    bool ready = false;  // memory for what may come
    for (;;) {
      const bool idle = runner_->idle();
      Inbox::Mail mail = inbox_.take(runner_->waiting(), !idle ? 0ms : ready ? 500ms : 20ms);
      if (idle && mail.jobs.empty()) ready = !runner_->make_ready();
      if (!idle) ready = false;
      for (auto& lane : mail.jobs) runner_->submit(std::move(lane));
      for (JobId id : mail.cancels) runner_->cancel(id);
      if (mail.stop) break;
      try {
        runner_->turn();
        // A GPU that was lost while nothing was asked of it is found before the next request is.
        if (Clock::now() - beaten >= 500ms) device_->wait();
      } catch (const std::exception& e) {
        fault(e.what());
        return;
      }
      publish();
      if (const auto now = Clock::now(); now - beaten >= 500ms) {
        beaten = now;
        beat();
      }
    }
    runner_->fail_all({RequestError::Kind::cancelled, "the engine is stopping"});
    runner_->finish_saves(10s);
  }

  void beat() {
    std::function<void()> beat;
    {
      const std::lock_guard lock(status_mutex_);
      beat = beat_;
    }
    if (beat) beat();
  }

  // The device is lost: every request fails, now and later.
  void fault(const std::string& text) {
    inbox_.close();
    for (auto& lane : inbox_.take(0, {}).jobs) runner_->submit(std::move(lane));
    runner_->fail_all({RequestError::Kind::failed, text});
    publish();
    {
      const std::lock_guard lock(status_mutex_);
      status_.fault = text;
    }
    beat();
  }

  void publish() {
    const Runner::Counts& counts = runner_->counts();
    const std::lock_guard lock(status_mutex_);
    status_.active = runner_->active();
    status_.queued = runner_->waiting();
    status_.served = counts.served;
    status_.cancelled = counts.cancelled;
    status_.failed = counts.failed;
    status_.prompt_tokens = counts.prompt_tokens;
    status_.reply_tokens = counts.reply_tokens;
    status_.rounds = counts.rounds;
    status_.guessed = counts.guessed;
    status_.guessed_right = counts.guessed_right;
    status_.drafts = counts.drafts;
    status_.begun_new = counts.begun_new;
    status_.begun_from_memory = counts.begun_from_memory;
    status_.begun_from_disk = counts.begun_from_disk;
    status_.last_round = Clock::now();
    const PromptCache& cache = runner_->cache();
    status_.memory[1].used = page_bytes_ * (runner_->pages_used() - cache.pages_held());
    status_.memory[3].used = page_bytes_ * cache.pages_held() + state_bytes_ * cache.entries();
    const PromptCache::Counts& kept = cache.counts();
    status_.cache = {kept.hits,          kept.misses,    kept.stored,        kept.evicted,
                     kept.reused_tokens, kept.ended_new, kept.ended_differs, kept.ended_evicted};
    if (!store_) return;
    const SnapshotStore::Counts disk = store_->counts();
    status_.snapshots = {
        true,         disk.hits,    disk.reused_tokens, disk.stored, disk.evicted,
        disk.skipped, disk.corrupt, disk.written_bytes, disk.bytes,  status_.snapshots.budget};
  }

  const Checkpoint checkpoint_;
  const Tokenizer tokenizer_;
  const ChatFormat format_;
  const std::unique_ptr<kernels::Device> device_;
  ModelInfo info_;
  Weights weights_;
  std::unique_ptr<Forward> forward_;
  Inbox inbox_;
  std::atomic<JobId> last_id_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  mutable std::mutex status_mutex_;
  Status status_{};
  std::function<void()> beat_;
  std::function<void(const Notice&)> notice_;
  std::vector<Notice> early_notices_;

  std::unique_ptr<SnapshotStore> store_;  // null: none
  std::unique_ptr<Runner> runner_;
  uint64_t page_bytes_ = 0, state_bytes_ = 0;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Engine> Engine::open(const Options& options,
                                     const std::function<void(const std::string&)>& progress) {
  try {
    auto engine = std::make_unique<RealEngine>(options, progress);
    engine->start();
    return engine;
  } catch (const CheckpointError& e) {
    throw StartError(StartError::Kind::model, e.what());
  } catch (const TokenizerError& e) {
    throw StartError(StartError::Kind::model, e.what());
  } catch (const TemplateError& e) {
    throw StartError(StartError::Kind::model, e.what());
  } catch (const kernels::OutOfMemory& e) {
    throw StartError(StartError::Kind::memory, e.what());
  } catch (const kernels::DeviceError& e) {
    throw StartError(StartError::Kind::device, e.what());
  }
}

std::vector<std::string> devices() { return kernels::implementations(); }

}  // namespace lockstep::engine
