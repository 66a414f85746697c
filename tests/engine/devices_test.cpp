// Every device of this machine gives the same replies: token ids and log-probabilities, bit for bit.
#include <cmath>
#include <random>

#include "engine/engine.h"
#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"
#include "tests/tools/synthetic.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::engine;
using namespace lockstep::test;
using namespace lockstep::tools;

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

Options options_for(const std::filesystem::path& model, int context) {
  Options options;
  options.model = model;
  options.lanes = at_once;
  options.context = context;
  options.memory = uint64_t{3} << 30;
  options.device = devices().front();
  options.chunk = 512;
  return options;
}

// On the best device alone and together, and on each other one together, with another chunk.
void compare_devices(const std::string& name, Options options, const std::vector<Question>& list) {
  const std::vector<Answer> alone = answers(options, list, false);
  for (const std::string& device : devices()) {
    if (device == "reference") continue;
    options.device = device;
    options.chunk -= 93;
    const std::vector<Answer> together = answers(options, list, true);
    for (size_t i = 0; i < list.size(); ++i) {
      INFO(name << " on " << device << " beside " << devices().front() << ", seed " << seed << ", prompt "
                << i << " of " << list[i].prompt.tokens.size() << " tokens");
      REQUIRE(static_cast<int>(alone[i].logprobs.size()) == list[i].sampling.max_tokens);
      CHECK(same(together[i], alone[i]));
    }
  }
}

void compare_devices(int count, int context) {
  for (const TestModel& model : test_models()) {
    DYNAMIC_SECTION(model.name) {
      const Options options = options_for(copy_with_max_positions(model.directory, context), context);
      const int vocabulary = open_engine(options)->model().vocabulary;
      compare_devices(model.name, options, questions(count, vocabulary, context - reply - 1));
    }
  }
}

}  // namespace

TEST_CASE("every device of this machine gives the same replies") { compare_devices(8, 160); }
TEST_CASE("every device of this machine gives the same replies to 200 prompts", "[.long]") {
  compare_devices(200, 4096);
}
// 1.5 to 3 GB of disk each.
TEST_CASE("the first layers of the published shapes give the same replies on every device", "[.full-size]") {
  for (SyntheticShape shape : published_shapes()) {
    const TemporaryDirectory directory;
    shape.layers = 4;
    write_synthetic(shape, directory.path() / "model", test_models().front().directory);
    Options options = options_for(directory.path() / "model", 1024);
    options.memory = uint64_t{8} << 30;
    std::vector<Question> list = questions(2, shape.vocabulary, 600);
    list[1].prompt.tokens = list[0].prompt.tokens;
    for (Question& question : list) {
      question.sampling.max_tokens = 16;
      question.sampling.top_logprobs = 20;
    }
    compare_devices(shape.name, options, list);
  }
}
