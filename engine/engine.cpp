#include "engine/engine.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <thread>

#include "engine/board.h"
#include "engine/chat/texts.h"
#include "engine/files/checkpoint.h"
#include "engine/lanes/accept.h"
#include "engine/lanes/inbox.h"
#include "engine/lanes/runner.h"
#include "engine/memory/budget.h"
#include "engine/models/forward.h"
#include "engine/snapshots/store.h"

namespace lockstep::engine {
namespace {

class RealEngine final : public Engine {
 public:
  RealEngine(const Options& options, const std::function<void(const std::string&)>& progress)
      : checkpoint_(Checkpoint::open(options.model)),
        texts_(options.model),
        device_(kernels::open_device(options.device, options.threads)),
        inbox_(options.queue) {
    const ModelConfig& config = checkpoint_.config();
    if (texts_.tokenizer().size() > config.vocabulary)
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

  Prompt prepare(const Conversation& conversation) const override { return texts_.prepare(conversation); }
  std::string render(const Conversation& conversation) const override { return texts_.render(conversation); }
  std::vector<int32_t> tokenize(std::string_view text, bool special) const override {
    return texts_.tokenize(text, special);
  }
  std::string detokenize(std::span<const int32_t> ids) const override { return texts_.detokenize(ids); }

  JobId submit(Job job) override {
    const JobId id = ++last_id_;
    auto lane = accept(id, std::move(job), info_, texts_.tokenizer(), checkpoint_.config().end_tokens);
    switch (inbox_.submit(lane)) {
      case Inbox::Answer::taken: return id;
      case Inbox::Answer::closed:
        throw RequestError(RequestError::Kind::failed, "the engine has stopped: " + board_.status().fault);
      case Inbox::Answer::full: board_.count_refused();
    }
    throw RequestError(RequestError::Kind::busy, "too many requests are waiting; try again later");
  }
  void cancel(JobId id) override { inbox_.cancel(id); }
  Status status() const override { return board_.status(); }
  void on_beat(std::function<void()> beat) override { board_.on_beat(std::move(beat)); }
  void on_notice(std::function<void(const Notice&)> notice) override { board_.on_notice(std::move(notice)); }

 private:
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
    runner_ = std::make_unique<Runner>(*device_, config, texts_.tokenizer(), *forward_,
                                       Runner::Limits{options.lanes, options.chunk, info_.context, draft_rows,
                                                      lanes_pages + cache_pages, cache_slots, cache_pages},
                                       store_.get(), [this](const Notice& notice) { board_.tell(notice); });
    while (runner_->make_ready()) {
    }
    runner_->measure();
    const uint64_t states = state * options.lanes;
    std::vector<Status::Pool> memory = {{"weights", weights_.bytes, weights_.bytes},
                                        {"kv_pages", page * lanes_pages, 0},
                                        {"states", states, states},
                                        {"prompt_cache", state * cache_slots + page * cache_pages, 0},
                                        {"scratch", forward_->scratch_bytes(), forward_->scratch_bytes()}};
    if (buffers) memory.push_back({"snapshot_buffers", buffers, 0});
    std::string line = "memory: ";
    for (const Status::Pool& pool : memory) line += pool.name + " " + in_words(pool.bytes) + ", ";
    board_.set_memory(std::move(memory));
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
            board_.tell({false, text});
          },
          [this] { inbox_.wake(); });
      progress(store_->summary());
    } catch (const WriteFailure& failure) {
      board_.tell({false, "snapshots: " +
                              (failure.error == EWOULDBLOCK
                                   ? place + " is in use by another daemon"
                                   : place + " cannot be written (" +
                                         std::generic_category().message(failure.error) + ")") +
                              "; conversations will not be kept for a restart"});
    }
    board_.set_snapshots(store_ != nullptr, options.snapshot_budget);
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
      board_.publish(*runner_, store_.get());
      if (const auto now = Clock::now(); now - beaten >= 500ms) {
        beaten = now;
        board_.beat();
      }
    }
    runner_->fail_all({RequestError::Kind::cancelled, "the engine is stopping"});
    runner_->finish_saves(10s);
  }

  // The device is lost: every request fails, now and later.
  void fault(const std::string& text) {
    inbox_.close();
    for (auto& lane : inbox_.take(0, {}).jobs) runner_->submit(std::move(lane));
    runner_->fail_all({RequestError::Kind::failed, text});
    board_.publish(*runner_, store_.get());
    board_.fault(text);
    board_.beat();
  }

  const Checkpoint checkpoint_;
  const Texts texts_;
  const std::unique_ptr<kernels::Device> device_;
  ModelInfo info_;
  Weights weights_;
  std::unique_ptr<Forward> forward_;
  Inbox inbox_;
  std::atomic<JobId> last_id_ = 0;
  Board board_;
  std::unique_ptr<SnapshotStore> store_;  // null: none
  std::unique_ptr<Runner> runner_;
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
