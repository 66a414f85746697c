// `lockstepd bench gap`: what a stream notices of a long prompt beside it, and the prompt of the stream.
#include <algorithm>
#include <atomic>
#include <iomanip>
#include <ostream>
#include <thread>

#include "engine/bench/serve.h"
#include "engine/lanes/lane.h"

namespace lockstep::engine {
namespace {

constexpr int runs = 7, longest_prompt = 3000, short_prompt = 20, tokens_before = 100, tokens_after = 900;
constexpr int promised = 4;  // normal gaps

// When each token came. Of the engine's thread until `over`.
class Timed final : public Sink {
 public:
  void progress(int, int) override {}
  void delta(Delta&&) override {
    times.push_back(Clock::now());
    count = static_cast<int>(times.size());
    if (count == wanted_) count.notify_all();  // for any other, the waiting thread would only be in the way
  }
  void done(Reply&& reply) override {
    first_seconds = reply.queue_seconds + reply.prompt_seconds;
    end();
  }
  void failed(const RequestError& problem) override {
    if (problem.kind != RequestError::Kind::cancelled) error = problem.what();
    end();
  }
  // Waits for so many tokens, or the end.
  void wait_for(int tokens) {
    wanted_ = tokens;
    for (int seen = count; seen < tokens && !over; seen = count) count.wait(seen);
    if (over && !error.empty()) throw StartError(StartError::Kind::model, "a bench request failed: " + error);
  }

  std::vector<Clock::time_point> times;
  std::atomic<int> count = 0;
  std::atomic<bool> over = false;
  double first_seconds = 0;
  std::string error;

 private:
  void end() {
    over = true;
    ++count;
    count.notify_all();
  }
  std::atomic<int> wanted_ = 0;
};

struct Request {
  std::shared_ptr<Timed> sink;
  JobId id;
};

Request ask(Engine& engine, int prompt, int variant, int reply) {
  Job job;
  job.prompt.tokens = text_of(prompt, variant, engine.model().vocabulary);
  job.sampling.temperature = 0;
  job.sampling.max_tokens = reply;
  job.sampling.ignore_end = true;
  job.sampling.fresh = true;
  job.sampling.draft = Sampling::Draft::never;
  const auto sink = std::make_shared<Timed>();
  job.sink = sink;
  return {sink, engine.submit(std::move(job))};
}

// What a stream noticed, in milliseconds between its tokens.
struct Gaps {
  std::vector<double> alone, beside;
  double normal() const { return median(alone); }
  static double worst(const std::vector<double>& some) { return *std::ranges::max_element(some); }
  std::string above(const std::vector<double>& some) const {
    const auto count = std::ranges::count_if(some, [&](double gap) { return gap > promised * normal(); });
    return std::to_string(count) + " of " + std::to_string(some.size());
  }
};

// The longest time, in milliseconds, that the machine took a processor away from one of so many threads,
// which only read the clock meanwhile.
double hold_up(int threads, double milliseconds) {
  std::vector<double> longest(threads);
  std::vector<std::thread> some;
  for (double& own : longest)
    some.emplace_back([&own, milliseconds] {
      const auto ms = [](Clock::duration time) {
        return std::chrono::duration<double, std::milli>(time).count();
      };
      const auto start = Clock::now();
      for (auto before = start; ms(before - start) < milliseconds;) {
        const auto now = Clock::now();
        own = std::max(own, ms(now - before));
        before = now;
      }
    });
  for (std::thread& one : some) one.join();
  return std::ranges::max(longest);
}

class GapBench {
 public:
  GapBench(std::ostream& out, Engine& engine, int threads)
      : out_(out),
        engine_(engine),
        threads_(threads),
        prompt_(std::min(longest_prompt, engine.model().context / 2)) {}

  bool run() {
    out_ << engine_.model().name << " on " << engine_.model().device << ", a stream beside a prompt of "
         << prompt_ << " tokens and one of " << short_prompt
         << " that comes later; without drafts; milliseconds\n"
         << "normal gap   worst beside   in normal ones   above " << promised
         << ": beside          alone   prompt alone   beside   short one   held up\n"
         << std::fixed;
    std::vector<double> ratios;
    for (int run = 0; run < runs; ++run) ratios.push_back(meet(4 * run));
    out_ << std::setprecision(2) << "median of the worst gaps in normal ones: " << median(ratios) << "\n"
         << "held up: the longest that the machine kept one of " << threads_
         << " threads from reading the clock, after each run for as long as the prompt took; median "
         << median(held_up_) << "\n"
         << (in_order_ ? "the short prompt was always first\n"
                       : "THE SHORT PROMPT WAITED FOR THE LONG ONE\n");
    return in_order_;
  }

 private:
  double meet(int variant) {
    const Request alone = ask(engine_, prompt_, variant, 1);
    alone.sink->wait_for(2);
    const int most = engine_.model().context - short_prompt;
    const Request stream = ask(engine_, short_prompt, variant + 1, most);
    stream.sink->wait_for(tokens_before);
    const auto began = Clock::now();
    const Request longest = ask(engine_, prompt_, variant + 2, 1);
    const Request shortest = ask(engine_, short_prompt, variant + 3, 1);
    longest.sink->wait_for(2);
    shortest.sink->wait_for(2);
    stream.sink->wait_for(std::min(stream.sink->count + tokens_after, most));
    engine_.cancel(stream.id);
    while (!stream.sink->over) stream.sink->wait_for(stream.sink->count + 1);
    const auto ended = longest.sink->times.front();
    in_order_ = in_order_ && shortest.sink->times.front() < ended;

    Gaps gaps;
    const std::vector<Clock::time_point>& times = stream.sink->times;
    for (size_t i = 1; i < times.size(); ++i)
      (times[i] >= began && times[i - 1] < ended ? gaps.beside : gaps.alone)
          .push_back(std::chrono::duration<double, std::milli>(times[i] - times[i - 1]).count());
    held_up_.push_back(hold_up(threads_, std::chrono::duration<double, std::milli>(ended - began).count()));
    const double worst = Gaps::worst(gaps.beside), ratio = worst / gaps.normal();
    out_ << std::setprecision(2) << std::setw(10) << gaps.normal() << std::setw(15) << worst << std::setw(17)
         << ratio << std::setw(18) << gaps.above(gaps.beside) << std::setw(15) << gaps.above(gaps.alone)
         << std::setprecision(0) << std::setw(15) << 1e3 * alone.sink->first_seconds << std::setw(9)
         << 1e3 * longest.sink->first_seconds << std::setw(12) << 1e3 * shortest.sink->first_seconds
         << std::setprecision(2) << std::setw(10) << held_up_.back() << std::endl;
    return ratio;
  }

  std::ostream& out_;
  Engine& engine_;
  const int threads_, prompt_;
  std::vector<double> held_up_;
  bool in_order_ = true;
};

}  // namespace

bool bench_gap(std::ostream& out, const Options& options) {
  const auto engine = Engine::open(options, [&](const std::string& line) { out << line << "\n"; });
  const int cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return GapBench(out, *engine, options.threads ? options.threads : cpus).run();
}

}  // namespace lockstep::engine
