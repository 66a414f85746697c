// `lockstepd bench model`: prompts and decoding of one model, beside a copy within the device's memory.
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <numeric>
#include <optional>
#include <ostream>
#include <sstream>

#include "engine/bench/serve.h"
#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

constexpr int most_runs = 5;
constexpr double enough = 10;     // seconds of runs, after which no other is begun
constexpr double too_long = 120;  // seconds that reading the prompts of one line may take

// A length that is `scaled` becomes what the context has room for; another one is left out instead.
struct Length {
  int tokens;
  bool scaled = true;
};
struct Prompts {
  Length length;
  bool table;  // of the kernels' times
};
constexpr Prompts prompts[] = {{{512}, false}, {{8192}, true}, {{32768, false}, true}};
struct Streams {
  int count;
  Length before;  // tokens of each one's prompt
};
constexpr Streams levels[] = {{1, {16}},   {4, {16}},    {8, {16}},
                              {1, {2048}}, {16, {2048}}, {1, {65536, false}}};

std::vector<double> repeated(const std::function<double()>& measure) {
  std::vector<double> values;
  const auto start = std::chrono::steady_clock::now();
  do values.push_back(measure());
  while (values.size() < most_runs &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < enough);
  return values;
}

class ModelBench {
 public:
  ModelBench(std::ostream& out, Options options) : out_(out), options_(std::move(options)) {
    if (make_room()) copy_ = kernels::copy_rate(options_.device, options_.threads);
    engine_ = Engine::open(options_, [&](const std::string& line) { out_ << line << "\n"; });
  }

  void run() {
    out_ << engine_->model().name << ", requests of at most " << options_.context << " positions, rounds of "
         << options_.chunk << " prompt tokens; medians of up to " << most_runs << " runs, without drafts\n"
         << std::fixed << "\n"
         << "prompt tokens    tokens/s\n";
    for (const Prompts& one : prompts) read(one.length);
    out_
        << "\nDecoding: MB that a round reads and writes (weights once, states in and out, keys and values), "
           "and what that is a second beside a copy, read and written\n"
        << "streams  tokens before  tokens/s  round ms    weights   states       KV      GB/s  copy GB/s"
           "  ratio\n";
    for (size_t i = 0; i < std::size(levels); ++i) decode(levels[i], static_cast<int>(i));
    for (const Prompts& one : prompts)
      if (one.table) time_kernels(one.length);
  }

 private:
  // Sets a context that all lines take and a cache that keeps a line's prompts, as far as the model, the
  // options and the memory allow. False of a model that cannot be opened.
  bool make_room() {
    const Inspection model = inspect(options_);
    if (!model.problems.empty()) return false;
    const int most = options_.context ? options_.context : model.context;
    options_.context = std::min(most, 65536 + 256);
    for (;; options_.context /= 2) {
      uint64_t states = 0, positions = static_cast<uint64_t>(options_.context);
      for (const Streams& level : levels) {  // of each stream its prompt, and that with its reply
        const auto count = static_cast<uint64_t>(level.count);
        states = std::max(states, 2 * count + 2);
        if (const auto before = room_for(level.before))
          positions = std::max(positions, count * static_cast<uint64_t>(*before + 4 * reply()));
      }
      options_.cache = 2 * std::max(states * model.state_bytes, positions * model.position_bytes);
      const uint64_t needed = model.weight_bytes + model.scratch_bytes + options_.cache +
                              model.state_bytes * static_cast<uint64_t>(options_.lanes) +
                              model.position_bytes * positions;
      if (needed <= model.budget) return true;
      if (options_.context <= 4096) break;
    }
    options_.cache = 0;  // too little memory: what is left
    return true;
  }
  int reply() const { return std::min(128, options_.context / 4); }
  std::optional<int> room_for(const Length& length) const {
    const int most = options_.context - reply() - 1;
    if (length.tokens > most && !length.scaled) return std::nullopt;
    return std::min(length.tokens, most);
  }
  // Why lines of so many streams are left out, or nothing.
  std::string obstacle(const Length& length, int streams) const {
    std::ostringstream text;
    if (streams > options_.lanes)
      text << "only " << options_.lanes << " requests are served at once";
    else if (!room_for(length))
      text << "requests have room for " << options_.context << " positions";
    else if (const double time = streams * *room_for(length) / prompt_speed_;
             prompt_speed_ && time > too_long)
      text << "reading the prompts would take " << static_cast<int>(time / 60) << " minutes";
    return text.str().empty() ? "" : "left out: " + text.str();
  }

  // Requests of random tokens, which differ by stream and variant; random text says nothing about drafts.
  std::vector<Reply> ask(int streams, int tokens, int reply, int variant, bool time_kernels = false) {
    std::vector<BenchJob> some(static_cast<size_t>(streams));
    for (int i = 0; i < streams; ++i) {
      BenchJob& job = some[static_cast<size_t>(i)];
      job.tokens = text_of(tokens, variant * 64 + i, engine_->model().vocabulary);
      // The cache would keep a prompt's part before its last message, not the whole.
      for (const int32_t start : engine_->tokenize("<|im_start|>", true))
        std::ranges::replace(job.tokens, start, start ? 0 : 1);
      job.sampling.temperature = 0;
      job.sampling.max_tokens = reply;
      job.sampling.ignore_end = true;
      job.sampling.draft = Sampling::Draft::never;
      job.time_kernels = time_kernels;
    }
    return serve(*engine_, some);
  }

  void read(const Length& length) {
    out_ << std::setw(13) << room_for(length).value_or(length.tokens);
    if (const std::string text = obstacle(length, 1); !text.empty()) {
      out_ << "  " << text << std::endl;
      return;
    }
    const int tokens = *room_for(length);
    const double speed =
        median(repeated([&] { return tokens / ask(1, tokens, 1, next_variant_++).front().prompt_seconds; }));
    if (!prompt_speed_) prompt_speed_ = speed;
    out_ << std::setprecision(1) << std::setw(12) << speed << std::endl;
  }

  // Each prompt is read once and kept, so that its streams decode side by side from the first round on.
  void decode(const Streams& level, int variant) {
    out_ << std::setw(7) << level.count << std::setw(15)
         << room_for(level.before).value_or(level.before.tokens);
    if (const std::string text = obstacle(level.before, level.count); !text.empty()) {
      out_ << "  " << text << std::endl;
      return;
    }
    const int before = *room_for(level.before);
    ask(level.count, before, 1, variant);
    bool known = true;
    const double speed = median(repeated([&] {
      const std::vector<Reply> replies = ask(level.count, before, reply(), variant);
      for (const Reply& one : replies) known = known && one.cached_tokens >= before - 1;
      return decode_speed(replies);
    }));
    const Footprint& sizes = engine_->model().footprint;
    const double weights = sizes.weights_of(level.count),
                 states = 2.0 * level.count * static_cast<double>(sizes.state),
                 kv = level.count * (before + 0.5 * reply()) * static_cast<double>(sizes.position);
    const double round = level.count / speed, rate = (weights + states + kv) / round;
    out_ << std::setprecision(1) << std::setw(10) << speed << std::setprecision(3) << std::setw(10)
         << 1e3 * round << std::setprecision(1) << std::setw(11) << weights / 1e6 << std::setw(9)
         << states / 1e6 << std::setw(9) << kv / 1e6 << std::setw(10) << rate / 1e9 << std::setw(11)
         << copy_ / 1e9 << std::setw(6) << 100 * rate / copy_ << " %"
         << (known ? "" : "  prompts did not stay in the cache and were read beside it") << std::endl;
  }

  void time_kernels(const Length& length) {
    if (!obstacle(length, 1).empty()) return;
    const int tokens = *room_for(length);
    const Reply reply = std::move(ask(1, tokens, 1, next_variant_++, true).front());
    const auto sum = [&](bool linear_only) {
      return std::accumulate(reply.kernel_times.begin(), reply.kernel_times.end(), 0.0,
                             [&](double all, const KernelTime& one) {
                               return all + (one.linear || !linear_only ? one.seconds : 0);
                             });
    };
    const double all = sum(false);
    const auto line = [&](const std::string& name, const std::string& launches, double seconds) {
      out_ << std::left << std::setw(32) << name << std::right << std::setw(9) << launches << std::setw(12)
           << 1e3 * seconds << std::setw(8) << 100 * seconds / all << " %\n";
    };
    out_ << "\nA prompt of " << tokens << " tokens with each kernel by itself: " << std::setprecision(3)
         << reply.prompt_seconds << " s, of which kernels " << all << " s\n"
         << std::setprecision(1);
    if (reply.kernel_times.empty()) {
      out_ << "this device does not time its kernels\n";
      return;
    }
    out_ << "kernel                           launches          ms     share\n";
    for (const KernelTime& one : reply.kernel_times)
      line(one.name, std::to_string(one.launches), one.seconds);
    line("linear layers together", "", sum(true));
    out_ << std::flush;
  }

  std::ostream& out_;
  Options options_;
  double copy_ = 0, prompt_speed_ = 0;  // bytes a second; tokens a second of the first prompts
  int next_variant_ = static_cast<int>(std::size(levels));
  std::unique_ptr<Engine> engine_;
};

}  // namespace

void bench_model(std::ostream& out, const Options& options) {
  try {
    ModelBench(out, options).run();
  } catch (const kernels::OutOfMemory& e) {
    throw StartError(StartError::Kind::memory, e.what());
  } catch (const kernels::DeviceError& e) {
    throw StartError(StartError::Kind::device, e.what());
  }
}

}  // namespace lockstep::engine
