#include "engine/bench/serve.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace lockstep::engine {
namespace {

// The replies of jobs that run together.
struct Level {
  std::mutex mutex;
  std::condition_variable changed;
  size_t over = 0;
  std::string error;
  std::vector<Reply> replies;

  void end(size_t job, Reply&& reply, const std::string& text) {
    const std::lock_guard lock(mutex);
    replies[job] = std::move(reply);
    if (!text.empty()) error = text;
    ++over;
    changed.notify_one();
  }
};

class LevelSink final : public Sink {
 public:
  LevelSink(Level& level, size_t job) : level_(level), job_(job) {}
  void progress(int, int) override {}
  void delta(Delta&&) override {}
  void done(Reply&& reply) override { level_.end(job_, std::move(reply), ""); }
  void failed(const RequestError& error) override { level_.end(job_, {}, error.what()); }

 private:
  Level& level_;
  size_t job_;
};

}  // namespace

std::vector<Reply> serve(Engine& engine, std::span<const BenchJob> jobs) {
  Level level;
  level.replies.resize(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    Job job;
    job.prompt.tokens = jobs[i].tokens;
    job.sampling = jobs[i].sampling;
    job.time_kernels = jobs[i].time_kernels;
    job.sink = std::make_shared<LevelSink>(level, i);
    engine.submit(std::move(job));
  }
  std::unique_lock lock(level.mutex);
  level.changed.wait(lock, [&] { return level.over == jobs.size(); });
  if (!level.error.empty())
    throw StartError(StartError::Kind::model, "a bench request failed: " + level.error);
  return std::move(level.replies);
}

std::vector<int32_t> text_of(int tokens, int variant, int vocabulary) {
  std::vector<int32_t> ids(tokens);
  uint64_t state = 0x9e3779b97f4a7c15ULL * (variant + 1);
  for (int32_t& id : ids) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    id = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocabulary));
  }
  return ids;
}

void DecodeTime::add(std::span<const Reply> replies) {
  double longest = 0;
  for (const Reply& reply : replies) {
    longest = std::max(longest, reply.decode_seconds);
    tokens += static_cast<double>(reply.tokens.size()) - 1;
  }
  seconds += longest;
}

double decode_speed(std::span<const Reply> replies) {
  DecodeTime time;
  time.add(replies);
  return time.speed();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace lockstep::engine
