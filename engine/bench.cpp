// `lockstepd bench`: how fast this machine runs the operations and a model.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iomanip>
#include <mutex>
#include <ostream>

#include "engine/engine.h"
#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Counts the replies of a level and remembers when each of its streams began to speak.
struct Level {
  std::mutex mutex;
  std::condition_variable changed;
  int over = 0;
  std::string error;
  std::vector<Reply> replies;

  void end(Reply&& reply, const std::string& text) {
    const std::lock_guard lock(mutex);
    replies.push_back(std::move(reply));
    if (!text.empty()) error = text;
    ++over;
    changed.notify_one();
  }
};

class LevelSink final : public Sink {
 public:
  explicit LevelSink(Level& level) : level_(level) {}
  void progress(int, int) override {}
  void delta(Delta&&) override {}
  void done(Reply&& reply) override { level_.end(std::move(reply), ""); }
  void failed(const RequestError& error) override { level_.end({}, error.what()); }

 private:
  Level& level_;
};

std::vector<int32_t> text_of(int tokens, int variant, int vocabulary) {
  std::vector<int32_t> ids(tokens);
  uint64_t state = 0x9e3779b97f4a7c15ULL * (variant + 1);
  for (int32_t& id : ids) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    id = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocabulary));
  }
  return ids;
}

// Serves `streams` requests at once and waits for all.
std::vector<Reply> serve(Engine& engine, int streams, int prompt, int reply, int variant) {
  Level level;
  for (int i = 0; i < streams; ++i) {
    Job job;
    job.prompt.tokens = text_of(prompt, variant * 64 + i, engine.model().vocabulary);
    job.sampling.temperature = 0;
    job.sampling.max_tokens = reply;
    job.sampling.ignore_end = true;
    job.sink = std::make_shared<LevelSink>(level);
    engine.submit(std::move(job));
  }
  std::unique_lock lock(level.mutex);
  level.changed.wait(lock, [&] { return level.over == streams; });
  if (!level.error.empty())
    throw StartError(StartError::Kind::model, "a bench request failed: " + level.error);
  return std::move(level.replies);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

void bench_kernels(std::ostream& out, const std::string& device, int threads) {
  try {
    kernels::bench_kernels(out, device, threads);
  } catch (const kernels::DeviceError& e) {
    throw StartError(StartError::Kind::device, e.what());
  }
}

void bench_model(std::ostream& out, const Options& options) {
  constexpr int runs = 5, reply = 128;
  const auto engine = Engine::open(options, [&](const std::string& line) { out << line << "\n"; });
  const int prompt = std::min(512, engine->model().context / 2);
  out << engine->model().name << ", " << runs << " runs each, medians\n"
      << std::fixed << std::setprecision(1);
  std::vector<double> speeds;
  for (int run = 0; run < runs; ++run) {
    const std::vector<Reply> replies = serve(*engine, 1, prompt, 1, run);
    speeds.push_back(prompt / replies[0].prompt_seconds);
  }
  out << std::setw(28) << "prompt of " + std::to_string(prompt) + " tokens" << std::setw(10) << median(speeds)
      << " tokens/s\n";
  for (int streams : {1, 4, 8}) {
    if (streams > options.lanes) break;
    speeds.clear();
    for (int run = 0; run < runs; ++run) {
      const std::vector<Reply> replies = serve(*engine, streams, 16, reply, run);
      double longest = 0;
      for (const Reply& r : replies) longest = std::max(longest, r.decode_seconds);
      speeds.push_back(streams * (reply - 1) / longest);
    }
    out << std::setw(28) << "decode, " + std::to_string(streams) + (streams == 1 ? " stream" : " streams")
        << std::setw(10) << median(speeds) << " tokens/s\n";
  }
}

}  // namespace lockstep::engine
