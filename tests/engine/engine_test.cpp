#include "engine/engine.h"

#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/reference_file.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

const std::filesystem::path source = LOCKSTEP_SOURCE_DIR;

Options tiny_dense() {
  Options options;
  options.model = source / "tests/data/tiny-dense";
  options.lanes = 8;
  return options;
}

Sampling greedy(int max_tokens) {
  Sampling s;
  s.temperature = 0;
  s.max_tokens = max_tokens;
  return s;
}

}  // namespace

TEST_CASE("concurrent = solo: eight requests at once give what each gives alone") {
  const std::vector<std::string> questions = {
      "Hello!",
      "Who are you?",
      "What does the package curl do?",
      "Which package can I use to edit images?",
      "Sort these words: pear, apple, table",
      "Define the word harbor.",
      "What is 12 + 30?",
      "What does the option -r of grep do? Explain it in one long sentence with "
      "examples of directories, files and patterns."};
  for (const TestModel& model : test_models()) {
    Options options;
    options.model = model.directory;
    options.lanes = 8;
    options.chunk = 48;
    const auto engine = open_engine(options);
    std::vector<Prompt> prompts;
    std::vector<Sampling> samplings;
    for (size_t i = 0; i < questions.size(); ++i) {
      prompts.push_back(chat(*engine, questions[i]));
      Sampling s = greedy(24);
      s.top_logprobs = 3;
      if (i % 2) s.temperature = 0.9f, s.top_p = 0.95f, s.seed = i;
      if (i % 4 == 3) s.top_k = 20;
      samplings.push_back(s);
    }
    std::vector<Answer> alone;
    for (size_t i = 0; i < questions.size(); ++i) alone.push_back(ask(*engine, prompts[i], samplings[i]));
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<std::shared_ptr<Collector>> sinks;
      for (size_t i = 0; i < questions.size(); ++i) sinks.push_back(begin(*engine, prompts[i], samplings[i]));
      for (size_t i = 0; i < questions.size(); ++i) {
        INFO(model.name << ": " << questions[i]);
        const Answer together = sinks[i]->wait();
        REQUIRE(alone[i].logprobs.size() > 1);
        CHECK(same(together, alone[i]));
      }
    }
  }
}

TEST_CASE("a lane that is set aside for want of pages goes on to the same bits") {
  Options options = tiny_dense();
  options.context = 256;
  options.lanes = 4;
  const auto roomy = open_engine(options);
  // Weights, states and scratch as before, but pages for one and a half requests only.
  uint64_t fixed = 0, pages = 0;
  for (const Status::Pool& pool : roomy->status().memory)
    (pool.name == "kv_pages" ? pages : fixed) += pool.bytes;
  options.memory = fixed + pages * 6 / 16;
  const auto narrow = open_engine(options);
  std::vector<Answer> wanted;
  std::vector<std::shared_ptr<Collector>> sinks;
  std::vector<Prompt> prompts;
  Sampling s = greedy(150);
  s.ignore_end = true;
  s.top_logprobs = 0;
  for (const char* question : {"Hello!", "Who are you?", "What is git?", "Define the word harbor."}) {
    prompts.push_back(chat(*roomy, question));
    wanted.push_back(ask(*roomy, prompts.back(), s));
  }
  for (const Prompt& prompt : prompts) sinks.push_back(begin(*narrow, prompt, s));
  for (size_t i = 0; i < sinks.size(); ++i) CHECK(same(sinks[i]->wait(), wanted[i]));
  // The status is renewed after the round that gave the last reply.
  const auto pages_used = [&] { return narrow->status().memory[1].used; };
  for (int wait = 0; wait < 500 && pages_used() != 0; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(narrow->status().memory[1].name == "kv_pages");
  CHECK(pages_used() == 0);
}

TEST_CASE("F07 max_tokens cuts exactly and says so") {
  const auto engine = open_engine(tiny_dense());
  const Answer answer = ask(*engine, chat(*engine, "What does the package curl do?"), greedy(5));
  REQUIRE(answer.reply);
  CHECK(answer.reply->tokens.size() == 5);
  CHECK(answer.reply->finish == Finish::length);
}

TEST_CASE("F01 a stop string across tokens cuts the text just before it") {
  const auto engine = open_engine(tiny_dense());
  const Prompt prompt = chat(*engine, "Who are you?");
  const Answer whole = ask(*engine, prompt, greedy(40));
  REQUIRE(whole.pieces.size() > 6);
  // The last character of one piece and the first of the next.
  const std::string stop = whole.pieces[3].substr(whole.pieces[3].size() - 1) + whole.pieces[4].substr(0, 1);
  Sampling s = greedy(40);
  s.stop = {stop};
  const Answer cut = ask(*engine, prompt, s);
  CHECK(cut.content == whole.content.substr(0, whole.content.find(stop)));
  CHECK(cut.reply->finish == Finish::stop);
  s.stop = {"never written by it"};
  CHECK(ask(*engine, prompt, s).content == whole.content);
}

TEST_CASE("F75 a prompt beyond the context is refused, one token short of it gets one token") {
  Options options = tiny_dense();
  options.context = 128;
  const auto engine = open_engine(options);
  Prompt prompt;
  prompt.tokens.assign(129, 5);
  for (int length : {129, 128}) {
    prompt.tokens.resize(length);
    try {
      ask(*engine, prompt, greedy(10));
      FAIL("accepted");
    } catch (const RequestError& e) {
      CHECK(e.kind == RequestError::Kind::context_overflow);
      CHECK(std::string(e.what()).find(std::to_string(length)) != std::string::npos);
    }
  }
  prompt.tokens.resize(127);
  Sampling s = greedy(100);
  s.ignore_end = true;
  const Answer answer = ask(*engine, prompt, s);
  REQUIRE(answer.reply);
  CHECK(answer.reply->tokens.size() == 1);
  CHECK(answer.reply->finish == Finish::length);
}

TEST_CASE("a cancelled request ends at once and frees its lane, running or waiting") {
  Options options = tiny_dense();
  options.lanes = 1;
  const auto engine = open_engine(options);
  const Prompt prompt = chat(*engine, "Hello!");
  Sampling endless = greedy(0);
  endless.ignore_end = true;
  JobId running = 0, waiting = 0;
  const auto first = begin(*engine, prompt, endless, &running);
  const auto second = begin(*engine, prompt, endless, &waiting);
  const auto third = begin(*engine, prompt, greedy(4));
  first->wait_deltas(3);
  engine->cancel(waiting);
  engine->cancel(running);
  CHECK(first->wait().error->kind == RequestError::Kind::cancelled);
  CHECK(second->wait().error->kind == RequestError::Kind::cancelled);
  CHECK(third->wait().reply);
  for (int wait = 0; wait < 500 && engine->status().cancelled != 2; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(engine->status().cancelled == 2);
}

TEST_CASE("more than the queue holds is refused as busy, and what was taken is answered") {
  Options options = tiny_dense();
  options.lanes = 1;
  options.queue = 2;
  const auto engine = open_engine(options);
  const Prompt prompt = chat(*engine, "Hello!");
  std::vector<std::shared_ptr<Collector>> taken;
  int busy = 0;
  for (int i = 0; i < 50; ++i) try {
      taken.push_back(begin(*engine, prompt, greedy(30)));
    } catch (const RequestError& e) {
      CHECK(e.kind == RequestError::Kind::busy);
      ++busy;
    }
  CHECK(busy > 0);
  for (const auto& sink : taken) CHECK(sink->wait().reply);
  CHECK(engine->status().refused == uint64_t(busy));
}

TEST_CASE("a missing seed is derived from the prompt; a given one decides") {
  const auto engine = open_engine(tiny_dense());
  const Prompt prompt = chat(*engine, "Tell me about harbors.");
  Sampling s;
  s.temperature = 1;
  s.max_tokens = 20;
  const Answer first = ask(*engine, prompt, s), again = ask(*engine, prompt, s);
  CHECK(first.reply->seed == again.reply->seed);
  CHECK(first.reply->tokens == again.reply->tokens);
  s.seed = 42;
  const Answer a = ask(*engine, prompt, s), b = ask(*engine, prompt, s);
  s.seed = 43;
  const Answer c = ask(*engine, prompt, s);
  CHECK(a.reply->tokens == b.reply->tokens);
  CHECK(a.reply->tokens != c.reply->tokens);
  CHECK(a.reply->token_sha == b.reply->token_sha);
  CHECK(a.reply->token_sha != c.reply->token_sha);
}

TEST_CASE("F31 a seed decides, also beside seven others; choices of a request have seeds of their own") {
  const auto engine = open_engine(tiny_dense());
  const Prompt prompt = chat(*engine, "Who are you?");
  Sampling s = greedy(16);
  s.temperature = 1;
  s.seed = 42;
  const Answer alone = ask(*engine, prompt, s);
  CHECK(same(ask(*engine, prompt, s), alone));
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 8; ++i) {
    Sampling one = s;
    one.choice = i;
    one.priority = 8 - i;
    one.draft = i % 2 ? Sampling::Draft::never : Sampling::Draft::priced;
    sinks.push_back(begin(*engine, prompt, one));
  }
  std::set<std::vector<int32_t>> replies;
  for (int i = 0; i < 8; ++i) {
    const Answer answer = sinks[i]->wait();
    REQUIRE(answer.reply);
    CHECK(answer.reply->seed == 42 + static_cast<uint64_t>(i));
    replies.insert(answer.reply->tokens);
    if (i == 0) CHECK(same(answer, alone));
  }
  CHECK(replies.size() > 4);
  s.seed = 43;
  CHECK(ask(*engine, prompt, s).reply->tokens == sinks[1]->wait().reply->tokens);
}

TEST_CASE("F08 the bytes of the tokens that have log-probabilities join to the text; equal beside others") {
  const auto engine = open_engine(tiny_dense());
  Prompt prompt;
  prompt.tokens = engine->tokenize("Grüße! The package curl");
  Sampling s = greedy(40);
  s.temperature = 1;
  s.seed = 3;
  s.top_logprobs = 3;
  const Answer alone = ask(*engine, prompt, s);
  std::string bytes;
  for (const TokenLogprob& token : alone.logprobs) {
    bytes += token.bytes;
    REQUIRE(token.top.size() == 3);
    CHECK(token.top[0].logprob >= token.top[1].logprob);
    CHECK(token.top[1].logprob >= token.top[2].logprob);
  }
  CHECK(engine->detokenize(alone.reply->tokens).starts_with(alone.content));
  // What is no character is U+FFFD in the text.
  if (alone.content.find("\xef\xbf\xbd") == std::string::npos) CHECK(bytes == alone.content);
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 8; ++i) sinks.push_back(begin(*engine, prompt, s));
  for (const auto& sink : sinks) CHECK(same(sink->wait(), alone));
}

TEST_CASE(
    "F08 a prompt's log-probabilities are those that its tokens had as a reply, alone, beside others, "
    "cached") {
  const auto engine = open_engine(tiny_dense());
  Prompt first;
  first.tokens = engine->tokenize("Grüße! The package curl");
  Sampling s = greedy(90);
  s.temperature = 1;
  s.seed = 3;
  s.top_logprobs = 3;
  s.ignore_end = true;
  const Answer reply = ask(*engine, first, s);
  REQUIRE(reply.logprobs.size() == 90);
  CHECK(reply.prompt.empty());

  Prompt whole = first;  // longer than what one round scores, and across pages
  whole.tokens.insert(whole.tokens.end(), reply.reply->tokens.begin(), reply.reply->tokens.end());
  s.prompt_logprobs = true;
  s.max_tokens = 2;
  const auto check = [&](const Answer& answer) {
    REQUIRE(answer.prompt.size() == whole.tokens.size());
    CHECK(std::isnan(answer.prompt[0].logprob));
    for (size_t i = 0; i < answer.prompt.size(); ++i) CHECK(answer.prompt[i].token == whole.tokens[i]);
    for (size_t i = 0; i < reply.logprobs.size(); ++i) {
      const TokenLogprob &told = answer.prompt[first.tokens.size() + i], &was = reply.logprobs[i];
      CHECK(told.logprob == was.logprob);
      REQUIRE(told.top.size() == 3);
      for (size_t k = 0; k < 3; ++k)
        CHECK((told.top[k].token == was.top[k].token && told.top[k].logprob == was.top[k].logprob));
    }
    CHECK(answer.logprobs.size() == 2);
    CHECK(answer.reply->cached_tokens == 0);
  };
  check(ask(*engine, whole, s));
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 6; ++i) sinks.push_back(begin(*engine, whole, s));
  for (const auto& sink : sinks) check(sink->wait());
  Prompt one;
  one.tokens = {whole.tokens[0]};
  CHECK(ask(*engine, one, s).prompt.size() == 1);
}

TEST_CASE("of requests that wait, lower priorities go first") {
  struct Noted : Sink {
    std::vector<int>& order;  // of the engine's thread until all are over
    std::atomic<int>& left;
    const int index;
    Noted(std::vector<int>& o, std::atomic<int>& l, int i) : order(o), left(l), index(i) {}
    void progress(int, int) override {}
    void delta(Delta&&) override {}
    void done(Reply&&) override {
      order.push_back(index);
      --left;
    }
    void failed(const RequestError&) override { --left; }
  };
  Options options = tiny_dense();
  options.lanes = 1;
  const auto engine = open_engine(options);
  const Prompt prompt = chat(*engine, "Who are you?");
  Sampling endless = greedy(0);
  endless.ignore_end = true;
  JobId id = 0;
  const auto first = begin(*engine, prompt, endless, &id);
  first->wait_deltas(1);
  std::vector<int> order;
  std::atomic<int> left = 4;
  const std::vector<int> priorities = {0, 5, -5, 0};
  for (int i = 0; i < 4; ++i) {
    Sampling s = greedy(2);
    s.priority = priorities[i];
    engine->submit({prompt, s, std::make_shared<Noted>(order, left, i)});
  }
  engine->cancel(id);
  while (left > 0) std::this_thread::yield();
  CHECK(order == std::vector<int>{2, 0, 3, 1});
}

TEST_CASE("a memory budget too small for the model is refused with both figures") {
  Options options = tiny_dense();
  options.memory = 1 << 20;
  try {
    open_engine(options);
    FAIL("opened");
  } catch (const StartError& e) {
    CHECK(e.kind == StartError::Kind::memory);
    CHECK(std::string(e.what()).find("1.0 MiB") != std::string::npos);
  }
}

TEST_CASE("F30 a bias changes the greedy reply, and a token beyond the vocabulary is refused") {
  const auto engine = open_engine(tiny_dense());
  const Prompt prompt = chat(*engine, "Who are you?");
  Sampling s = greedy(8);
  s.top_logprobs = 2;
  const Answer plain = ask(*engine, prompt, s);
  const int32_t first = plain.reply->tokens[0], second = plain.logprobs[0].top[1].token;
  s.logit_bias = {{first, -100}};
  const Answer without = ask(*engine, prompt, s);
  CHECK(without.reply->tokens[0] == second);
  CHECK(std::ranges::count(without.reply->tokens, first) == 0);
  CHECK(without.logprobs[0].logprob == plain.logprobs[0].top[1].logprob);
  s.logit_bias = {{first, 100}};
  s.ignore_end = true;
  CHECK(ask(*engine, prompt, s).reply->tokens == std::vector<int32_t>(8, first));
  for (const int32_t token : {-1, engine->model().vocabulary}) {
    s.logit_bias = {{token, 1}};
    try {
      ask(*engine, prompt, s);
      FAIL("accepted");
    } catch (const RequestError& e) {
      CHECK(e.field == "logit_bias");
    }
  }
}

TEST_CASE("penalties keep a reply from repeating itself, the same beside others") {
  const auto engine = open_engine(tiny_dense());
  const Prompt prompt = chat(*engine, "Who are you?");
  Sampling s = greedy(40);
  s.ignore_end = true;
  s.top_logprobs = 0;
  s.presence_penalty = s.frequency_penalty = 2;
  s.repetition_penalty = 1.5f;
  const Answer alone = ask(*engine, prompt, s);
  const auto distinct = [](const Answer& a) {
    return std::set<int32_t>(a.reply->tokens.begin(), a.reply->tokens.end()).size();
  };
  Sampling plain = greedy(40);
  plain.ignore_end = true;
  CHECK(distinct(alone) > distinct(ask(*engine, prompt, plain)));
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 4; ++i) sinks.push_back(begin(*engine, prompt, i % 2 ? s : plain));
  for (int i = 1; i < 4; i += 2) CHECK(same(sinks[i]->wait(), alone));
}

TEST_CASE("F14 F70 a reply holds to its schema: greedy, sampled, thinking, sixteen at once") {
  Options options = tiny_dense();
  options.lanes = 16;
  const auto engine = open_engine(options);
  Conversation conversation;
  conversation.messages.push_back({"user", "Who are you?", {}, {}, {}});
  conversation.form.schema =
      R"({"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":99},"b":{"enum":["x","y"]},
          "c":{"type":"string","maxLength":8}},"required":["a","b","c"],"additionalProperties":false})";
  std::vector<Prompt> prompts;
  std::vector<Sampling> samplings;
  std::vector<Answer> alone;
  for (int i = 0; i < 16; ++i) {
    conversation.thinking = i % 4 == 3;
    prompts.push_back(engine->prepare(conversation));
    REQUIRE(prompts.back().form);
    Sampling s = greedy(400);
    s.top_logprobs = 1;
    if (i) s.temperature = 1, s.seed = i;
    if (i % 3 == 1) s.top_k = 20;
    if (i % 4 == 3) s.logit_bias = {}, s.max_tokens = 900;
    samplings.push_back(s);
    alone.push_back(ask(*engine, prompts.back(), s));
    INFO("request " << i << ": " << alone.back().content);
    REQUIRE(alone.back().reply);
    // A thought may take all tokens there are.
    if (alone.back().reply->finish == Finish::length && i % 4 == 3) continue;
    CHECK(alone.back().reply->finish == Finish::stop);
    CHECK(alone.back().content.starts_with("{"));
    CHECK(alone.back().content.ends_with("}"));
    CHECK(alone.back().content.find("\"a\"") != std::string::npos);
    CHECK(alone.back().content.find("\"c\"") != std::string::npos);
  }
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 16; ++i) sinks.push_back(begin(*engine, prompts[i], samplings[i]));
  for (int i = 0; i < 16; ++i) CHECK(same(sinks[i]->wait(), alone[i]));
}

TEST_CASE("F10 a required or named call is made, whatever the model would say") {
  const auto engine = open_engine(tiny_dense());
  Conversation conversation;
  conversation.messages.push_back({"user", "Hello!", {}, {}, {}});
  conversation.tools = {
      R"({"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":9,"minimum":0}},"required":["n"]}}})",
      R"({"type":"function","function":{"name":"lock","parameters":{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}}})"};
  conversation.form.calls = ReplyForm::Calls::required;
  conversation.form.single_call = true;
  for (const char* name : {"look", "lock", ""}) {
    conversation.form.functions.clear();
    if (*name) conversation.form.functions = {name};
    const Answer answer = ask(*engine, engine->prepare(conversation), greedy(200));
    REQUIRE(answer.reply);
    CHECK(answer.reply->finish == Finish::tool_calls);
    REQUIRE(answer.calls.size() >= 1);
    if (*name) CHECK(answer.calls[0].name == name);
    CHECK(answer.content.empty());
  }
}
