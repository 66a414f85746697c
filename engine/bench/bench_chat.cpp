// `lockstepd bench chat`: conversations of three turns, what each turn had to read, and how fast.
#include <algorithm>
#include <array>
#include <iomanip>
#include <ostream>

#include "engine/bench/serve.h"

namespace lockstep::engine {
namespace {

constexpr int turns = 3, conversations = 4;
// What is kept begins with a message: so many tokens can stand before the first one that is new.
constexpr int most_header = 8;
constexpr const char* instructions =
    "You are the assistant of a machine that runs Linux. Answer in one or two short sentences, name the "
    "package or the "
    "command that is asked for, and say so when you do not know.";
constexpr std::array<std::array<const char*, turns>, conversations> questions = {{
    {"What does the package curl do?", "How do I install it?", "What does its option -s do?"},
    {"Who are you?", "Which package edits images?", "Define the word harbor."},
    {"What does the command tar do?", "And grep?", "Sort these words: pear, apple, table"},
    {"Write a sentence about the sea.", "Another one, please.", "Count from one to five."},
}};

// What one turn came to in all conversations.
struct Turn {
  int prompt = 0, fresh = 0, read = 0;  // tokens; fresh: not said before, or written otherwise now
  std::vector<double> first, first_anew, speed;
};

int common(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<int>(std::ranges::mismatch(a, b).in1 - a.begin());
}

class ChatBench {
 public:
  ChatBench(std::ostream& out, Engine& engine) : out_(out), engine_(engine) {}

  bool run() {
    for (int i = 0; i < conversations; ++i) converse(questions[i]);
    out_ << engine_.model().name << " on " << engine_.model().device << ", " << conversations
         << " conversations of " << turns << " turns; tokens in all, medians of times\n"
         << "turn   prompt   new   read   first token   read anew   decoded tokens/s\n"
         << std::fixed << std::setprecision(1);
    bool only_new = true;
    for (int i = 0; i < turns; ++i) {
      const Turn& turn = turns_[i];
      out_ << std::setw(4) << i + 1 << std::setw(9) << turn.prompt << std::setw(6) << turn.fresh
           << std::setw(7) << turn.read << std::setw(11) << 1e3 * median(turn.first) << " ms" << std::setw(9)
           << 1e3 * median(turn.first_anew) << " ms" << std::setw(19) << median(turn.speed) << "\n";
      only_new = only_new && turn.read <= turn.fresh + most_header * conversations;
    }
    out_ << (only_new ? "each turn read what was new, and at most a message's header before it\n"
                      : "A TURN READ MORE THAN WHAT WAS NEW\n")
         << "replies equal to those read anew: " << turns * conversations - different_ << " of "
         << turns * conversations << "\n";
    return only_new && different_ == 0;
  }

 private:
  void converse(std::span<const char* const> asked) {
    Conversation conversation;
    conversation.thinking = false;
    conversation.messages.push_back({"system", instructions, {}, {}, {}});
    std::vector<int32_t> said;
    for (int i = 0; i < turns; ++i) {
      conversation.messages.push_back({"user", asked[i], {}, {}, {}});
      BenchJob job;
      job.tokens = engine_.prepare(conversation).tokens;
      job.sampling.temperature = 0;
      job.sampling.max_tokens = 64;
      const Reply reply = std::move(serve(engine_, {&job, 1}).front());
      job.sampling.fresh = true;
      const Reply anew = std::move(serve(engine_, {&job, 1}).front());
      different_ += reply.token_sha != anew.token_sha;
      Turn& turn = turns_[i];
      turn.prompt += reply.prompt_tokens;
      turn.fresh += reply.prompt_tokens - common(job.tokens, said);
      turn.read += reply.prompt_tokens - reply.cached_tokens;
      turn.first.push_back(reply.queue_seconds + reply.prompt_seconds);
      turn.first_anew.push_back(anew.queue_seconds + anew.prompt_seconds);
      turn.speed.push_back(decode_speed({&reply, 1}));
      said = job.tokens;
      said.insert(said.end(), reply.tokens.begin(), reply.tokens.end());
      conversation.messages.push_back({"assistant", engine_.detokenize(text_of(reply)), {}, {}, {}});
    }
  }

  // Without the token that ended it.
  static std::vector<int32_t> text_of(const Reply& reply) {
    std::vector<int32_t> tokens = reply.tokens;
    if (reply.finish == Finish::stop) tokens.pop_back();
    return tokens;
  }

  std::ostream& out_;
  Engine& engine_;
  std::array<Turn, turns> turns_{};
  int different_ = 0;
};

}  // namespace

bool bench_chat(std::ostream& out, const Options& options) {
  const auto engine = Engine::open(options, [&](const std::string& line) { out << line << "\n"; });
  return ChatBench(out, *engine).run();
}

}  // namespace lockstep::engine
