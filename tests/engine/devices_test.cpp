// Every device of this machine gives the same replies: token ids and log-probabilities, bit for bit.
#include <algorithm>
#include <cmath>
#include <random>

#include "engine/engine.h"
#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/tried_devices.h"
#include "tests/engine/support/written_replies.h"
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

// Prompts of random tokens, most of them short; every second one is sampled. The same on every machine.
std::vector<Question> questions(int count, int vocabulary, int longest) {
  std::mt19937 random(seed);
  std::vector<Question> list(static_cast<size_t>(count));
  for (size_t i = 0; i < list.size(); ++i) {
    const unsigned most = static_cast<unsigned>(longest) >> random() % 12;
    const unsigned length = i == 0 ? static_cast<unsigned>(longest) : 1 + random() % std::max(most, 1u);
    for (unsigned k = 0; k < length; ++k)
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

std::vector<Answer> answers(Engine& engine, const std::vector<Question>& list, bool together) {
  std::vector<Answer> all;
  const size_t step = together ? at_once : 1;
  for (size_t first = 0; first < list.size(); first += step) {
    std::vector<std::shared_ptr<Collector>> sinks;
    for (size_t i = first; i < std::min(list.size(), first + step); ++i)
      sinks.push_back(begin(engine, list[i].prompt, list[i].sampling));
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
  const std::vector<Answer> alone = answers(*open_engine(options), list, false);
  for (const std::string& device : devices()) {
    if (device == "reference") continue;
    options.device = device;
    options.chunk -= 93;
    const std::vector<Answer> together = answers(*open_engine(options), list, true);
    for (size_t i = 0; i < list.size(); ++i) {
      INFO(name << " on " << device << " beside " << devices().front() << ", seed " << seed << ", prompt "
                << i << " of " << list[i].prompt.tokens.size() << " tokens");
      REQUIRE(static_cast<int>(alone[i].logprobs.size()) == list[i].sampling.max_tokens);
      CHECK(same(together[i], alone[i]));
    }
  }
}

// The 200 prompts of tests/data/replies.txt.
constexpr int written_count = 200, written_context = 4096;

Options written_options(const TestModel& model) {
  return options_for(copy_with_max_positions(model.directory, written_context), written_context);
}
std::vector<Question> written_questions(const Options& options) {
  const int vocabulary = open_engine(options)->model().vocabulary;
  return questions(written_count, vocabulary, written_context - reply - 1);
}

}  // namespace

TEST_CASE("every device of this machine gives the same replies") {
  for (const TestModel& model : test_models()) {
    DYNAMIC_SECTION(model.name) {
      const Options options = options_for(copy_with_max_positions(model.directory, 160), 160);
      const int vocabulary = open_engine(options)->model().vocabulary;
      compare_devices(model.name, options, questions(8, vocabulary, 160 - reply - 1));
    }
  }
}

// Alone, and 16 at once with another chunk.
TEST_CASE("every device of this machine gives the 200 replies that are written down", "[.long]") {
  const WrittenReplies written;
  const std::vector<int> none;
  for (const TestModel& model : test_models()) {
    DYNAMIC_SECTION(model.name) {
      Options options = written_options(model);
      const std::vector<Question> list = written_questions(options);
      for (const std::string& device : tried_devices()) {
        if (device == "reference") continue;
        INFO(device);
        options.device = device;
        CHECK(written.differing(model.name, answers(*open_engine(options), list, false)) == none);
        options.chunk -= 93;
        CHECK(written.differing(model.name, answers(*open_engine(options), list, true)) == none);
      }
    }
  }
}

TEST_CASE("short prompts get the replies that are written down") {
  const WrittenReplies written;
  for (const TestModel& model : test_models()) {
    DYNAMIC_SECTION(model.name) {
      const Options options = written_options(model);
      std::vector<Question> list = written_questions(options);
      const auto engine = open_engine(options);
      int tried = 0;
      for (int i = 0; i < written_count && tried < 5; ++i) {
        const Question& one = list[static_cast<size_t>(i)];
        if (one.prompt.tokens.size() > 40) continue;
        INFO("prompt " << i);
        ++tried;
        CHECK(written.is(model.name, i, ask(*engine, one.prompt, one.sampling)));
      }
      CHECK(tried == 5);
    }
  }
}

TEST_CASE("a reply that is not the one that is written down is seen") {
  const TestModel model = test_models().back();
  const Options options = written_options(model);
  const std::vector<Question> list = questions(2, open_engine(options)->model().vocabulary, 30);
  const std::vector<Answer> good = answers(*open_engine(options), list, false);
  const TemporaryDirectory directory;
  WrittenReplies written(directory.path() / "replies.txt");
  CHECK(written.differing("m", good) == std::vector<int>{0, 1});  // nothing is written yet
  written.write("m", 0, good[0]);
  written.write("m", 1, good[1]);
  const WrittenReplies again(directory.path() / "replies.txt");
  CHECK(again.differing("m", good).empty());
  CHECK(again.differing("n", good).size() == 2);
  const auto with = [&](auto change) {
    std::vector<Answer> planted = good;
    change(planted[1]);
    return again.differing("m", planted);
  };
  const std::vector<int> second = {1};
  CHECK(with([](Answer& a) { a.reply->tokens.back() ^= 1; }) == second);
  CHECK(with([](Answer& a) { a.logprobs[3].logprob = std::nextafter(a.logprobs[3].logprob, 0.0f); }) ==
        second);
  CHECK(with([](Answer& a) { std::swap(a.logprobs[5].top[1], a.logprobs[5].top[2]); }) == second);
  CHECK(with([](Answer& a) { a.logprobs[7].top[3].logprob += 1; }) == second);
  CHECK(with([](Answer& a) { a.logprobs.pop_back(); }) == second);
  CHECK(with([](Answer& a) { a.reply.reset(); }) == second);
  CHECK(with([](Answer&) {}).empty());
}

// Writes what is missing in tests/data/replies.txt, a line at a time, on the first device that is tried.
TEST_CASE("write the replies down", "[.write-replies]") {
  WrittenReplies written;
  std::vector<TestModel> models = test_models();
  std::ranges::reverse(models);  // the small ones first
  for (const TestModel& model : models) {
    Options options = written_options(model);
    options.device = tried_devices().front();
    const std::vector<Question> list = written_questions(options);
    const auto engine = open_engine(options);
    for (int i = 0; i < written_count; ++i) {
      const Question& one = list[static_cast<size_t>(i)];
      if (!written.has(model.name, i)) written.write(model.name, i, ask(*engine, one.prompt, one.sampling));
    }
  }
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
