// Every device of this machine gives the same replies: token ids and log-probabilities, bit for bit.
#include <cmath>
#include <random>

#include "engine/engine.h"
#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

constexpr int reply = 12, at_once = 16;  // tokens, requests
constexpr unsigned seed = 20;

struct Question {
  Prompt prompt;
  Sampling sampling;
};

// Prompts of random tokens, most of them short; every second one is sampled.
std::vector<Question> questions(int count, int vocabulary, int longest) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(0, std::log(longest));
  std::vector<Question> list(static_cast<size_t>(count));
  for (size_t i = 0; i < list.size(); ++i) {
    const int length = i == 0 ? longest : static_cast<int>(std::exp(exponent(random)));
    for (int k = 0; k < length; ++k)
      list[i].prompt.tokens.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(vocabulary)));
    Sampling& s = list[i].sampling;
    s.max_tokens = reply;
    s.ignore_end = true;
    s.top_logprobs = 4;
    s.temperature = i % 2 ? 0.9f : 0;
    s.seed = i;
  }
  return list;
}

std::vector<Answer> answers(const Options& options, const std::vector<Question>& list, bool together) {
  const auto engine = open_engine(options);
  std::vector<Answer> all;
  const size_t step = together ? at_once : 1;
  for (size_t first = 0; first < list.size(); first += step) {
    std::vector<std::shared_ptr<Collector>> sinks;
    for (size_t i = first; i < std::min(list.size(), first + step); ++i)
      sinks.push_back(begin(*engine, list[i].prompt, list[i].sampling));
    for (const auto& sink : sinks) all.push_back(sink->wait());
  }
  return all;
}

// On the best device alone and together, and on each other one together, with another chunk.
void compare_devices(int count, int context) {
  for (const TestModel& model : test_models()) {
    Options options;
    options.model = model.directory;
    options.lanes = at_once;
    options.context = context;
    options.memory = uint64_t{3} << 30;
    options.device = devices().front();
    options.chunk = 512;
    const int vocabulary = open_engine(options)->model().vocabulary;
    const std::vector<Question> list = questions(count, vocabulary, options.context - reply - 1);
    const std::vector<Answer> alone = answers(options, list, false);
    int chunk = 512;
    for (const std::string& device : devices()) {
      if (device == "reference") continue;
      options.device = device;
      options.chunk = chunk -= 93;
      const std::vector<Answer> together = answers(options, list, true);
      for (size_t i = 0; i < list.size(); ++i) {
        INFO(model.name << " on " << device << " beside " << devices().front() << ", seed " << seed
                        << ", prompt " << i << " of " << list[i].prompt.tokens.size() << " tokens");
        REQUIRE(alone[i].logprobs.size() == reply);
        CHECK(same(together[i], alone[i]));
      }
    }
  }
}

}  // namespace

TEST_CASE("every device of this machine gives the same replies") { compare_devices(8, 160); }
TEST_CASE("every device of this machine gives the same replies to 200 prompts", "[.long]") {
  compare_devices(200, 2048);
}
