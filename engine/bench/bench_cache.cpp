// `lockstepd bench cache`: time to the first token of a long prompt that is new, known in memory, and known
// on disk after a restart, beside that of a prompt of one token.
#include <algorithm>
#include <iomanip>
#include <ostream>

#include "engine/bench/serve.h"
#include "engine/check/scratch_folder.h"

namespace lockstep::engine {
namespace {

constexpr int runs = 9;

// What one way of beginning came to.
struct Way {
  std::string name;
  int expected;  // tokens of the prompt that must have been known
  std::vector<double> milliseconds{};
  int least_known = 1 << 30, most_known = 0;

  void add(const Reply& reply) {
    milliseconds.push_back(1e3 * (reply.queue_seconds + reply.prompt_seconds));
    least_known = std::min(least_known, reply.cached_tokens);
    most_known = std::max(most_known, reply.cached_tokens);
  }
  bool as_expected() const { return least_known == expected && most_known == expected; }
};

class CacheBench {
 public:
  CacheBench(std::ostream& out, const Options& options) : out_(out), folder_(false), options_(options) {
    options_.snapshots = folder_.path();
  }

  bool run() {
    auto engine = open();
    length_ = std::min(1500, engine->model().context - 32);
    one_ = {"one token", 0};
    cold_ = {"cold", 0};
    memory_ = {"from memory", length_ - 1};
    disk_ = {"from disk", length_ - 1};
    out_ << engine->model().name << " on " << engine->model().device << ", a prompt of " << length_
         << " tokens, " << runs << " runs of all in turn, medians\n";
    for (int run = 0; run < runs; ++run) {
      ask_one(*engine, run);
      replies_.push_back(ask(*engine, cold_, run));
      compare(ask(*engine, memory_, run), run);
    }
    engine.reset();  // writes what is left to write
    engine = open();
    for (int run = 0; run < runs; ++run) {
      ask_one(*engine, runs + run);
      compare(ask(*engine, disk_, run), run);
    }
    from_disk_ = engine->status().begun_from_disk;
    print();
    return different_ == 0 && cold_.as_expected() && memory_.as_expected() && disk_.as_expected() &&
           one_.as_expected() && from_disk_ == runs;
  }

 private:
  std::unique_ptr<Engine> open() {
    return Engine::open(options_, [](const std::string&) {});
  }
  Reply ask(Engine& engine, Way& way, int variant) {
    BenchJob job;
    job.tokens = text_of(length_, variant, engine.model().vocabulary / 2);
    job.sampling.temperature = 0;
    job.sampling.max_tokens = 8;
    job.sampling.ignore_end = true;
    Reply reply = std::move(serve(engine, {&job, 1}).front());
    way.add(reply);
    return reply;
  }
  void ask_one(Engine& engine, int variant) {
    BenchJob job;
    job.tokens = {1 + variant};
    job.sampling.temperature = 0;
    job.sampling.max_tokens = 1;
    one_.add(serve(engine, {&job, 1}).front());
  }
  void compare(const Reply& reply, int run) { different_ += reply.token_sha != replies_[run].token_sha; }

  void print() {
    const double one = median(one_.milliseconds);
    out_ << std::fixed << std::setprecision(1)
         << "                 first token        beside one token   known\n";
    for (const Way* way : {&one_, &cold_, &memory_, &disk_}) {
      const double time = median(way->milliseconds);
      out_ << "  " << std::left << std::setw(13) << way->name << std::right << std::setw(10) << time << " ms"
           << std::showpos << std::setw(18) << time - one << std::noshowpos << " ms" << std::setw(13)
           << way->least_known << " of " << (way == &one_ ? 1 : length_)
           << (way->as_expected() ? "" : "  NOT AS IT SHOULD BE") << "\n";
    }
    out_ << "read from disk: " << from_disk_ << " of " << runs << "\n"
         << "replies equal to the cold one: " << 2 * runs - different_ << " of " << 2 * runs << "\n";
  }

  std::ostream& out_;
  const ScratchFolder folder_;
  Options options_;
  int length_ = 0, different_ = 0;
  uint64_t from_disk_ = 0;
  Way one_, cold_, memory_, disk_;
  std::vector<Reply> replies_;
};

}  // namespace

bool bench_cache(std::ostream& out, const Options& options) { return CacheBench(out, options).run(); }

}  // namespace lockstep::engine
