// The law: resumed = fresh.
#include <algorithm>
#include <fstream>
#include <random>

#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/random_request.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/whole_copy.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

constexpr unsigned seed = 20;

Options options_of(const TestModel& model, uint64_t cache) {
  Options options;
  options.model = model.directory;
  options.lanes = 4;
  options.chunk = 96;
  options.cache = cache;
  return options;
}

}  // namespace

TEST_CASE("F56 resumed = fresh: a hit at every length from 1 token to 3 pages + 16") {
  for (const TestModel& model : test_models()) {
    INFO("seed " << seed << ", " << model.name);
    const auto warm = open_engine(options_of(model, 64 << 20)), cold = open_engine(options_of(model, 1));
    std::mt19937 random(seed);
    const std::vector<int32_t> text = random_tokens(random, 3 * 64 + 16 + 24);
    const int step = model.name == "starter" ? 7 : 1;
    for (int shared = 1; shared <= 3 * 64 + 16; shared += step) {
      INFO("shared prefix of " << shared);
      // The first request leaves the state after its prompt; the second goes on from there with other tokens.
      Prompt prompt;
      prompt.tokens.assign(text.begin(), text.begin() + shared);
      prompt.tokens[0] = 1 + shared % 1999;
      ask(*warm, prompt, few(1));
      for (int32_t token : random_tokens(random, 4 + shared % 9)) prompt.tokens.push_back(token);
      const Answer resumed = ask(*warm, prompt, few(6)), fresh = ask(*cold, prompt, few(6));
      REQUIRE(resumed.reply->cached_tokens == shared);
      REQUIRE(fresh.reply->cached_tokens == 0);
      REQUIRE(same(resumed, fresh));
      // The same again, now from the border before its last token.
      const Answer again = ask(*warm, prompt, few(6));
      REQUIRE(again.reply->cached_tokens == static_cast<int>(prompt.tokens.size()) - 1);
      REQUIRE(same(again, fresh));
    }
    CHECK(cold->status().cache.stored == 0);
  }
}

TEST_CASE("F57 a later turn reads only what is new, and gives what a fresh reading gives") {
  for (const TestModel& model : test_models()) {
    INFO(model.name);
    const auto warm = open_engine(options_of(model, 64 << 20)), cold = open_engine(options_of(model, 1));
    Conversation conversation;
    conversation.messages.push_back(
        {"system", "You are a concise assistant. " + std::string(300, 'x'), {}, {}, {}});
    int before = 0;
    for (const char* question : {"What is git?", "How do I install it?", "Define the word harbor."}) {
      conversation.messages.push_back({"user", question, {}, {}, {}});
      const Prompt prompt = warm->prepare(conversation);
      const Answer resumed = ask(*warm, prompt, few(16)), fresh = ask(*cold, prompt, few(16));
      CHECK(same(resumed, fresh));
      // All but the last turn was read before: up to where the reply began.
      if (before) CHECK(resumed.reply->cached_tokens >= before - 16);
      before = static_cast<int>(prompt.tokens.size());
      conversation.messages.push_back({"assistant", fresh.content, {}, {}, {}});
    }
    // An edited last question keeps everything before it; another conversation keeps the system prompt.
    conversation.messages.resize(5);
    const int history = static_cast<int>(warm->prepare(conversation).tokens.size());
    conversation.messages.push_back({"user", "Define the word river.", {}, {}, {}});
    const Answer edited = ask(*warm, warm->prepare(conversation), few(8));
    CHECK(edited.reply->cached_tokens > 0);
    CHECK(edited.reply->cached_tokens <= history);
    CHECK(same(edited, ask(*cold, cold->prepare(conversation), few(8))));
    conversation.messages.resize(1);
    conversation.messages.push_back({"user", "Hello!", {}, {}, {}});
    const Answer other = ask(*warm, warm->prepare(conversation), few(8));
    CHECK(other.reply->cached_tokens > 0);
    CHECK(same(other, ask(*cold, cold->prepare(conversation), few(8))));
  }
}

TEST_CASE("F37 thoughts that a later turn leaves out cost only the turn they are left out of") {
  const TestModel model = test_models().front();
  const auto warm = open_engine(options_of(model, 64 << 20)), cold = open_engine(options_of(model, 1));
  Conversation conversation;
  conversation.thinking = true;
  int before = 0;
  for (const char* question : {"What is 12 + 30?", "What is git?", "Define the word harbor."}) {
    conversation.messages.push_back({"user", question, {}, {}, {}});
    const Prompt prompt = warm->prepare(conversation);
    Sampling greedy;
    greedy.temperature = 0;
    greedy.max_tokens = 60;
    const Answer answer = ask(*warm, prompt, greedy);
    CHECK(same(answer, ask(*cold, prompt, greedy)));
    // Everything up to the message that the last reply was opened with.
    if (before) CHECK(answer.reply->cached_tokens >= before - 16);
    before = static_cast<int>(prompt.tokens.size());
    conversation.messages.push_back({"assistant", answer.content, {}, {}, {}});
  }
}

TEST_CASE("F39 what is known goes by the rendered tokens, not by the messages or the effort") {
  const WholeCopy model(test_models()[1].directory);
  std::ofstream(model.directory() / "chat_template.jinja")
      << "<|im_start|>system\nReasoning: {{ reasoning_effort or 'medium' }}\n{{ messages[0].content "
         "}}<|im_end|>\n"
         "{% for m in messages[1:] %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
         "<|im_start|>assistant\n";
  Options options = options_of(test_models()[1], 64 << 20), none = options_of(test_models()[1], 1);
  options.model = none.model = model.directory();
  const auto warm = open_engine(options), cold = open_engine(none);
  const auto asked = [&](const char* effort, const std::string& question) {
    Conversation conversation;
    if (effort) conversation.template_arguments = std::string(R"({"reasoning_effort":")") + effort + "\"}";
    conversation.messages.push_back({"system", "Be concise. " + std::string(200, 'x'), {}, {}, {}});
    conversation.messages.push_back({"user", "Hello!", {}, {}, {}});
    conversation.messages.push_back({"assistant", "Hello.", {}, {}, {}});
    conversation.messages.push_back({"user", question, {}, {}, {}});
    return warm->prepare(conversation);
  };
  const auto cached = [&](const Prompt& prompt) {
    const Answer answer = ask(*warm, prompt, few(4));
    CHECK(same(answer, ask(*cold, prompt, few(4))));
    return answer.reply->cached_tokens;
  };
  const Prompt low = asked("low", "What is git?"), high = asked("high", "What is git?");
  const auto until = std::ranges::mismatch(low.tokens, high.tokens).in1 - low.tokens.begin();
  REQUIRE(until < 20);
  CHECK(cached(low) == 0);
  CHECK(cached(high) <= until);
  // Of each effort the system block and the history are known from now on.
  const int history = static_cast<int>(low.tokens.size()) - 40;
  CHECK(cached(asked("low", "Define the word harbor.")) >= history);
  CHECK(cached(asked("high", "Define the word harbor.")) >= history);
  CHECK(cached(asked("medium", "What is git?")) <= until);
  // No effort at all is rendered as the medium one.
  const Prompt unsaid = asked(nullptr, "What is git?");
  CHECK(cached(unsaid) >= static_cast<int>(unsaid.tokens.size()) - 8);
}

TEST_CASE("F57 a long prompt that goes on otherwise is known up to the last place that was kept before") {
  const WholeCopy model(test_models()[1].directory, 65536);
  Options options = options_of(test_models()[1], 256 << 20), none = options_of(test_models()[1], 1);
  options.model = none.model = model.directory();
  options.chunk = none.chunk = 512;
  options.lanes = none.lanes = 1;
  const auto warm = open_engine(options), cold = open_engine(none);
  std::mt19937 random(seed);
  Prompt first;
  first.tokens = random_tokens(random, 5000);
  const auto shared = [&](int tokens) {
    Prompt prompt;
    prompt.tokens.assign(first.tokens.begin(), first.tokens.begin() + tokens);
    for (int32_t token : random_tokens(random, 40)) prompt.tokens.push_back(token);
    return prompt;
  };
  CHECK(ask(*warm, first, few(2)).reply->cached_tokens == 0);
  for (const auto& [tokens, known] :
       {std::pair{4990, 4096}, {4096, 4096}, {4095, 2048}, {2100, 2048}, {2000, 0}}) {
    const Prompt prompt = shared(tokens);
    const Answer resumed = ask(*warm, prompt, few(4));
    INFO(tokens << " shared tokens");
    CHECK(resumed.reply->cached_tokens == known);
    CHECK(same(resumed, ask(*cold, prompt, few(4))));
  }
  first.tokens.push_back(7);
  CHECK(ask(*warm, first, few(2)).reply->cached_tokens == 4999);
}

TEST_CASE("F58 what the next turn renders otherwise is no part of what it finds") {
  const TestModel model = test_models().front();
  const auto warm = open_engine(options_of(model, 64 << 20)), cold = open_engine(options_of(model, 1));
  Conversation conversation;
  conversation.thinking = true;
  conversation.messages.push_back({"user", "What is 12 + 30?", {}, {}, {}});
  const Prompt first = warm->prepare(conversation);
  Sampling greedy;
  greedy.temperature = 0;
  greedy.max_tokens = 60;
  const Answer answer = ask(*warm, first, greedy);
  REQUIRE(!answer.reasoning.empty());
  // The same conversation without thinking: its generation prompt is another one.
  conversation.thinking = false;
  const Prompt other = warm->prepare(conversation);
  REQUIRE(other.tokens != first.tokens);
  const auto same_tokens = std::ranges::mismatch(first.tokens, other.tokens).in1 - first.tokens.begin();
  const Answer resumed = ask(*warm, other, greedy);
  CHECK(resumed.reply->cached_tokens > 0);
  CHECK(resumed.reply->cached_tokens <= same_tokens);
  CHECK(same(resumed, ask(*cold, other, greedy)));
}

TEST_CASE("resumed = fresh beside others, with a cache so small that entries are thrown out all the time") {
  const TestModel model = test_models()[1];
  Options small = options_of(model, 2 << 20);
  const auto warm = open_engine(small), cold = open_engine(options_of(model, 1));
  std::mt19937 random(seed);
  std::vector<std::vector<int32_t>> recent(6);  // prompts that others go on from
  for (int round = 0; round < 60; ++round) {
    std::vector<Prompt> prompts(4);
    std::vector<std::shared_ptr<Collector>> sinks;
    for (Prompt& prompt : prompts) {
      prompt.tokens = recent[random() % recent.size()];
      for (int32_t token : random_tokens(random, 1 + static_cast<int>(random() % 70)))
        prompt.tokens.push_back(token);
      sinks.push_back(begin(*warm, prompt, few(5)));
    }
    for (int i = 0; i < 4; ++i) {
      INFO("seed " << seed << ", round " << round << ", request " << i);
      REQUIRE(same(sinks[i]->wait(), ask(*cold, prompts[i], few(5))));
      auto& slot = recent[random() % recent.size()];
      slot = prompts[i].tokens;
      if (slot.size() > 300) slot.clear();
    }
  }
  CHECK(warm->status().cache.evicted > 0);
  CHECK(warm->status().cache.hits > 0);
}
