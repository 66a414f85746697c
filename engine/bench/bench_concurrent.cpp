// `lockstepd bench concurrent`: real prompts, so many at once, with drafts and without, every reply compared.
#include <algorithm>
#include <array>
#include <iomanip>
#include <ostream>

#include "engine/bench/serve.h"

namespace lockstep::engine {
namespace {

constexpr std::array questions = {
    "Who are you?",
    "What does the package curl do?",
    "What does the option -r of grep do?",
    "Define the word harbor.",
    "What is git? Explain how it is used.",
    "Sort these words: pear, apple, table",
    "How do I install nano?",
    "Which package edits images?",
    "What does the command tar do?",
    "Write a sentence about the sea.",
    "What does the package nginx do?",
    "Define the word lantern.",
    "What does the option -l of ls do?",
    "How do I remove a package?",
    "What does the package vim do?",
    "Count from one to twenty.",
};

// Of the questions from `first` on, which come again when there are more streams. Every second one samples.
std::vector<BenchJob> jobs(const Engine& engine, int first, int streams, Sampling::Draft draft) {
  std::vector<BenchJob> some(streams);
  for (int k = 0; k < streams; ++k) {
    const int i = first + k;
    Conversation conversation;
    conversation.messages.push_back({"user", questions[i % questions.size()], {}, {}, {}});
    some[k].tokens = engine.prepare(conversation).tokens;
    some[k].sampling.temperature = i % 2 ? 0.7f : 0.0f;
    some[k].sampling.seed = i;
    some[k].sampling.max_tokens = 128;
    some[k].sampling.draft = draft;
  }
  return some;
}

// Of requests that were asked one after the other: tokens a second of all their time.
double serial_speed(std::span<const Reply> replies) {
  double tokens = 0, seconds = 0;
  for (const Reply& reply : replies) {
    tokens += static_cast<double>(reply.tokens.size());
    seconds += reply.queue_seconds + reply.prompt_seconds + reply.decode_seconds;
  }
  return seconds > 0 ? tokens / seconds : 0;
}

// Questions in all that so many at once take: each of them at least once.
int asked(int streams) {
  const int all = static_cast<int>(questions.size());
  return (all + streams - 1) / streams * streams;
}

double alone_speed(std::span<const Reply> replies) {
  std::vector<double> speeds;
  for (const Reply& reply : replies) speeds.push_back(decode_speed({&reply, 1}));
  return median(std::move(speeds));
}

}  // namespace

bool bench_concurrent(std::ostream& out, const Options& options, ConcurrentBench what) {
  std::vector<int>& levels = what.levels;
  constexpr int runs = 5;
  const auto engine = Engine::open(options, [&](const std::string& line) { out << line << "\n"; });
  std::erase_if(levels, [&](int level) { return level > options.lanes; });
  if (levels.empty()) throw StartError(StartError::Kind::model, "no level is within lanes; raise lanes");
  int most = 0;
  for (int level : levels) most = std::max(most, asked(level));
  // What each says alone and undrafted.
  std::vector<Reply> alone;
  for (const BenchJob& job : jobs(*engine, 0, most, Sampling::Draft::never))
    alone.push_back(std::move(serve(*engine, {&job, 1}).front()));
  int compared = 0, different = 0;
  out << engine->model().name << " on " << engine->model().device << ", " << runs
      << " runs each in turn, medians; decoded tokens/s\n"
      << "streams   undrafted   drafted   ratio   tokens a round and stream"
      << (what.alone ? "     alone" : "") << (what.serial ? "    serial" : "") << "\n"
      << std::fixed;
  for (int level : levels) {
    std::vector<double> plain, drafted, ratio;
    uint64_t right = 0, tokens = 0;
    for (int run = 0; run < runs; ++run) {
      for (const Sampling::Draft draft : {Sampling::Draft::never, Sampling::Draft::priced}) {
        const Status before = engine->status();
        DecodeTime time;
        for (int first = 0; first < asked(level); first += level) {
          const std::vector<Reply> replies = serve(*engine, jobs(*engine, first, level, draft));
          time.add(replies);
          for (int i = 0; i < level; ++i, ++compared)
            different += replies[i].token_sha != alone[first + i].token_sha;
        }
        (draft == Sampling::Draft::never ? plain : drafted).push_back(time.speed());
        if (draft == Sampling::Draft::never) continue;
        right += engine->status().guessed_right - before.guessed_right;
        tokens += engine->status().reply_tokens - before.reply_tokens;
      }
      ratio.push_back(drafted.back() / plain.back());
    }
    out << std::setw(7) << level << std::setprecision(1) << std::setw(12) << median(plain) << std::setw(10)
        << median(drafted) << std::setprecision(2) << std::setw(8) << median(ratio) << std::setw(10)
        << static_cast<double>(tokens) / static_cast<double>(tokens - right) << std::setprecision(1);
    const std::span some = std::span(alone).first(static_cast<size_t>(asked(level)));
    if (what.alone) out << std::setw(27) << alone_speed(some);
    if (what.serial) out << std::setw(what.alone ? 10 : 27) << serial_speed(some);
    out << std::endl;
  }
  out << "replies equal to the same request alone and undrafted: " << compared - different << " of "
      << compared << "\n";
  return different == 0;
}

}  // namespace lockstep::engine
