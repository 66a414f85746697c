// The law: drafted = undrafted.
#include <iostream>
#include <random>
#include <thread>

#include "engine/files/checkpoint.h"
#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/whole_copy.h"
#include "tests/tools/synthetic.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

constexpr unsigned seed = 40;

Options options_of(const TestModel& model) {
  Options options;
  options.model = model.directory;
  options.lanes = 8;
  options.chunk = 96;
  return options;
}

// Half of the prompts repeat themselves, so that there is something to copy.
std::vector<Prompt> prompts(std::mt19937& random, int count) {
  std::vector<Prompt> some(count);
  for (int i = 0; i < count; ++i) {
    const int length = 5 + static_cast<int>(random() % 90), period = i % 2 ? 7 : length;
    for (int k = 0; k < length; ++k)
      some[i].tokens.push_back(k < period ? static_cast<int32_t>(random() % 2000)
                                          : some[i].tokens[k - period]);
  }
  return some;
}

Sampling with(int i, Sampling::Draft draft) {
  Sampling s;
  s.temperature = i % 3 ? 0.7f * static_cast<float>(i % 3) : 0;
  s.seed = i;
  s.max_tokens = 20 + 7 * (i % 5);
  s.top_logprobs = 3;
  s.ignore_end = i % 4 != 0;
  if (i % 5 == 4) s.frequency_penalty = 0.5f;
  s.draft = draft;
  return s;
}

}  // namespace

TEST_CASE("F68 drafted = undrafted, alone and together, greedy and sampled") {
  for (const TestModel& model : test_models()) {
    INFO("seed " << seed << ", " << model.name);
    std::mt19937 random(seed);
    const auto engine = open_engine(options_of(model));
    const std::vector<Prompt> some = prompts(random, 16);
    std::vector<Answer> plain;
    for (int i = 0; i < 16; ++i) plain.push_back(ask(*engine, some[i], with(i, Sampling::Draft::never)));
    CHECK(engine->status().guessed == 0);
    for (int i = 0; i < 16; ++i) {
      INFO("prompt " << i);
      REQUIRE(same(ask(*engine, some[i], with(i, Sampling::Draft::always)), plain[i]));
    }
    const Status alone = engine->status();
    CHECK(alone.guessed > 500);
    CHECK(alone.guessed_right > 0);
    CHECK(alone.guessed_right < alone.guessed);
    // Together, and each third of them without drafts or with drafts where they pay.
    std::vector<std::shared_ptr<Collector>> running;
    for (int i = 0; i < 16; ++i) running.push_back(begin(*engine, some[i], with(i, Sampling::Draft(i % 3))));
    for (int i = 0; i < 16; ++i) {
      INFO("prompt " << i << " of 16 together");
      REQUIRE(same(running[i]->wait(), plain[i]));
    }
    CHECK(engine->status().guessed > alone.guessed);
  }
}

TEST_CASE("F68 forced drafts of every depth, good and made up, change nothing") {
  for (const TestModel& model : test_models()) {
    INFO("seed " << seed << ", " << model.name);
    std::mt19937 random(seed);
    const auto engine = open_engine(options_of(model));
    const std::vector<Prompt> some = prompts(random, 4);
    for (int i = 0; i < 4; ++i) {
      Sampling s = with(i, Sampling::Draft::never);
      s.max_tokens = 24;
      s.ignore_end = true;
      const Answer plain = ask(*engine, some[i], s);
      for (s.draft_depth = 1; s.draft_depth <= Status::deepest_draft; ++s.draft_depth)
        for (const Sampling::Draft draft : {Sampling::Draft::always, Sampling::Draft::spoiled}) {
          INFO("prompt " << i << ", depth " << s.draft_depth << ", " << static_cast<int>(draft));
          s.draft = draft;
          const Status before = engine->status();
          REQUIRE(same(ask(*engine, some[i], s), plain));
          const Status after = engine->status();
          // No guess is deeper than it should be, and made-up ones are there at every depth.
          if (s.draft_depth < Status::deepest_draft)
            CHECK(after.drafts[s.draft_depth].guessed == before.drafts[s.draft_depth].guessed);
          if (draft == Sampling::Draft::spoiled)
            CHECK(after.drafts[s.draft_depth - 1].guessed > before.drafts[s.draft_depth - 1].guessed);
        }
    }
    const Status status = engine->status();
    CHECK(status.guessed_right > 0);
    CHECK(status.guessed_right < status.guessed);
  }
}

TEST_CASE("a drafted reply that was kept is gone on from like a fresh one") {
  for (const TestModel& model : test_models()) {
    INFO("seed " << seed << ", " << model.name);
    std::mt19937 random(seed);
    const auto drafted = open_engine(options_of(model)), fresh = open_engine(options_of(model));
    for (Prompt prompt : prompts(random, 4)) {
      const Answer first = ask(*drafted, prompt, with(1, Sampling::Draft::always));
      prompt.tokens.insert(prompt.tokens.end(), first.reply->tokens.begin(), first.reply->tokens.end());
      const int known = static_cast<int>(prompt.tokens.size()) - 1;
      for (int i = 0; i < 5; ++i) prompt.tokens.push_back(static_cast<int32_t>(random() % 2000));
      const Answer second = ask(*drafted, prompt, with(2, Sampling::Draft::always));
      CHECK(second.reply->cached_tokens == known);
      CHECK(same(second, ask(*fresh, prompt, with(2, Sampling::Draft::never))));
    }
  }
}

TEST_CASE("F69 guesses stand after long texts of any length, and after a hit", "[.long]") {
  const TestModel starter = test_models().front();
  const WholeCopy model(starter.directory, 65536);
  Options options = options_of(starter);
  options.model = model.directory();
  options.lanes = 1;
  const auto engine = open_engine(options);
  const ReferenceFile reference = read_reference(starter.reference);
  Sampling s;
  s.temperature = 0;
  s.max_tokens = 48;
  s.draft = Sampling::Draft::always;
  s.draft_depth = 1;
  const std::vector<int32_t> question = chat(*engine, "Who are you?").tokens;
  for (const size_t before : {0, 1024, 4096, 12032, 12288, 32768}) {
    Prompt prompt;
    while (prompt.tokens.size() < before)
      prompt.tokens.push_back(reference.heldout_ids[prompt.tokens.size() % reference.heldout_ids.size()]);
    prompt.tokens.insert(prompt.tokens.end(), question.begin(), question.end());
    uint64_t right[2], guessed[2];
    for (int again = 0; again < 2; ++again) {
      const Status earlier = engine->status();
      const Answer answer = ask(*engine, prompt, s);
      // The first time an earlier text may be known, which this one begins with.
      const auto known = static_cast<size_t>(answer.reply->cached_tokens);
      CHECK((known > 0 && known >= before) == (again == 1));
      while (engine->status().served == earlier.served) std::this_thread::yield();  // the counts come later
      right[again] = engine->status().guessed_right - earlier.guessed_right;
      guessed[again] = engine->status().guessed - earlier.guessed;
    }
    std::cout << "after " << before << " tokens " << right[0] << " of " << guessed[0] << " guesses stood\n";
    CHECK(right[0] * 10 >= guessed[0] * 6);
    CHECK(right[0] == right[1]);
    CHECK(guessed[0] == guessed[1]);
  }
}

TEST_CASE("F71 a model without a multi-token head is served, and drafted by copies") {
  Options options;
  options.model = lockstep::tools::synthetic("w6");
  REQUIRE(Checkpoint::open(options.model).config().mtp_layers == 0);
  const auto engine = open_engine(options);
  std::mt19937 random(seed);
  // Replies of three tokens only: what followed before often follows again.
  Sampling plain = with(1, Sampling::Draft::never), drafted = with(1, Sampling::Draft::always);
  plain.max_tokens = drafted.max_tokens = 60;
  plain.logit_bias = drafted.logit_bias = {{5, 100.0f}, {6, 100.0f}, {7, 100.0f}};
  for (const Prompt& prompt : prompts(random, 6))
    CHECK(same(ask(*engine, prompt, drafted), ask(*engine, prompt, plain)));
  CHECK(engine->status().guessed_right > 0);
}

TEST_CASE("F72 every stream has drafts of its own") {
  const auto engine = open_engine(options_of(test_models()[1]));
  std::mt19937 random(seed);
  const std::vector<Prompt> some = prompts(random, 8);
  std::vector<std::shared_ptr<Collector>> running;
  // All are known already: nobody guesses beside a prompt that is being read.
  for (const Prompt& prompt : some) ask(*engine, prompt, with(4, Sampling::Draft::never));
  for (const Prompt& prompt : some)
    running.push_back(begin(*engine, prompt, with(4, Sampling::Draft::always)));
  for (int i = 0; i < 8; ++i) {
    const Answer together = running[i]->wait();
    REQUIRE(together.reply);
    CHECK(same(together, ask(*engine, some[i], with(4, Sampling::Draft::never))));
  }
  CHECK(engine->status().guessed > 8 * 8);
}

TEST_CASE("the multi-token head of the starter guesses well") {
  const auto engine = open_engine(options_of(test_models().front()));
  Sampling s;
  s.temperature = 0;
  s.draft = Sampling::Draft::always;
  s.max_tokens = 120;
  for (const char* question : {"Who are you?", "What does the package git do?", "Define the word harbor."})
    ask(*engine, chat(*engine, question), s);
  const Status status = engine->status();
  // Of eight in a row more than one stands; later ones seldom do.
  CHECK(status.guessed_right * 8 > status.guessed);
}
