// The law across a restart: resumed from disk = fresh.
#include <fstream>
#include <random>

#include "tests/catch.h"
#include "tests/engine/support/ask.h"
#include "tests/engine/support/random_request.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/snapshots.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::engine;
using namespace lockstep::test;
using lockstep::tools::TemporaryDirectory;

namespace {

constexpr unsigned seed = 30;

Options options_of(const TestModel& model, const std::filesystem::path& snapshots) {
  Options options;
  options.model = model.directory;
  options.lanes = 4;
  options.chunk = 96;
  options.cache = snapshots.empty() ? 1 : 16 << 20;
  options.snapshots = snapshots;
  return options;
}

// A prompt whose first `shared` tokens no other has.
Prompt beginning(const std::vector<int32_t>& text, int shared) {
  Prompt prompt;
  prompt.tokens.assign(text.begin(), text.begin() + shared);
  prompt.tokens[0] = 1 + shared;
  return prompt;
}

}  // namespace

TEST_CASE("F61 resumed from disk = fresh at every length up to 3 pages + 16, and it is reuse") {
  for (const TestModel& model : test_models()) {
    INFO("seed " << seed << ", " << model.name);
    const TemporaryDirectory directory(quick_place());
    std::mt19937 random(seed);
    const std::vector<int32_t> text = random_tokens(random, 3 * 64 + 16);
    const int step = model.name == "starter" ? 119 : 11;
    uint64_t entries = 0;
    {
      const auto before = open_engine(options_of(model, directory.path()));
      for (int shared = 16; shared <= 3 * 64 + 16; shared += step) {
        ask(*before, beginning(text, shared), few(1));
        wait_for_saves(*before, ++entries);
      }
      CHECK(before->status().snapshots.stored == entries);
      CHECK(before->status().snapshots.bytes == bytes_of_files(directory.path()));
    }
    const auto after = open_engine(options_of(model, directory.path())),
               cold = open_engine(options_of(model, {}));
    const uint64_t read = after->status().prompt_tokens;
    for (int shared = 16; shared <= 3 * 64 + 16; shared += step) {
      INFO("shared prefix of " << shared);
      Prompt prompt = beginning(text, shared);
      for (int32_t token : random_tokens(random, 4 + shared % 9)) prompt.tokens.push_back(token);
      const Answer resumed = ask(*after, prompt, few(4)), fresh = ask(*cold, prompt, few(4));
      // Kept before the prompt's last token; what came a token later was not worth its bytes.
      REQUIRE(resumed.reply->cached_tokens == std::max(16, shared - 1));
      REQUIRE(fresh.reply->cached_tokens == 0);
      REQUIRE(same(resumed, fresh));
      // From now on memory has it.
      const Answer again = ask(*after, prompt, few(4));
      REQUIRE(same(again, fresh));
      REQUIRE(again.reply->cached_tokens >= shared);
    }
    CHECK(after->status().snapshots.hits == entries);
    CHECK(after->status().snapshots.corrupt == 0);
    CHECK(after->status().prompt_tokens - read < entries * 30);
  }
}

TEST_CASE("F58 a conversation goes on warm after each restart") {
  const TestModel model = test_models()[1];
  const TemporaryDirectory directory(quick_place());
  const auto cold = open_engine(options_of(model, {}));
  for (const bool thinking : {false, true}) {
    Conversation conversation;
    conversation.thinking = thinking;
    conversation.messages.push_back(
        {"system", "You are a concise assistant. " + std::string(300, 'x'), {}, {}, {}});
    int before = 0;
    for (const char* question : {"What is git?", "How do I install it?", "Define the word harbor."}) {
      const auto warm = open_engine(options_of(model, directory.path()));
      conversation.messages.push_back({"user", question, {}, {}, {}});
      const Prompt prompt = warm->prepare(conversation);
      const Answer resumed = ask(*warm, prompt, few(20)), fresh = ask(*cold, prompt, few(20));
      CHECK(same(resumed, fresh));
      INFO("thinking " << thinking << ", question: " << question);
      // All but the last turn was read before: up to where the reply began.
      CHECK(resumed.reply->cached_tokens >= std::max(0, before - 20));
      if (before) CHECK(warm->status().snapshots.hits == 1);
      before = static_cast<int>(prompt.tokens.size());
      conversation.messages.push_back({"assistant", fresh.content, {}, {}, {}});
    }
    conversation.messages.resize(1);
    conversation.messages.push_back({"user", "Hello!", {}, {}, {}});
    const auto other = open_engine(options_of(model, directory.path()));
    CHECK(ask(*other, other->prepare(conversation), few(1)).reply->cached_tokens > 100);
  }
}

TEST_CASE("F65 guesses stand as often after a restore as before, from memory and from disk") {
  const TestModel model = test_models().front();
  const TemporaryDirectory directory(quick_place());
  Sampling s;
  s.temperature = 0;
  s.max_tokens = 60;
  s.draft = Sampling::Draft::always;
  s.draft_depth = 2;
  struct Outcome {
    Answer answer;
    uint64_t guessed, right;
  };
  const auto asked = [&](Engine& engine, const Prompt& prompt) {
    const Status before = engine.status();
    Answer answer = ask(engine, prompt, s);
    const Status after = engine.status();
    return Outcome{std::move(answer), after.guessed - before.guessed,
                   after.guessed_right - before.guessed_right};
  };
  auto engine = open_engine(options_of(model, directory.path()));
  const Prompt prompt = chat(*engine, "What does the package curl do? Explain how it is used.");
  const Outcome fresh = asked(*engine, prompt), memory = asked(*engine, prompt);
  CHECK(memory.answer.reply->cached_tokens > 0);
  engine.reset();
  engine = open_engine(options_of(model, directory.path()));
  const Outcome disk = asked(*engine, prompt);
  CHECK(disk.answer.reply->cached_tokens > 0);
  CHECK(engine->status().begun_from_disk == 1);
  CHECK(fresh.right > 20);
  for (const Outcome* resumed : {&memory, &disk}) {
    CHECK(same(resumed->answer, fresh.answer));
    CHECK(resumed->guessed == fresh.guessed);
    CHECK(resumed->right == fresh.right);
  }
}

TEST_CASE("F59 F62 damaged snapshots are misses, told once and removed, and the reply is the same") {
  const TestModel model = test_models()[1];
  std::mt19937 random(seed);
  Prompt prompt;
  prompt.tokens = random_tokens(random, 200);
  const TemporaryDirectory directory(quick_place());
  const auto cold = open_engine(options_of(model, {}));
  {
    const auto before = open_engine(options_of(model, directory.path()));
    ask(*before, prompt, few(1));
    wait_for_saves(*before, 1);
  }
  for (int32_t token : {5, 6, 7}) prompt.tokens.push_back(token);
  const Answer fresh = ask(*cold, prompt, few(6));
  const std::vector<std::string> names = snapshot_files(directory.path());
  REQUIRE(names.size() == 4);  // three pages and an entry
  for (const std::string& name : names)
    for (const char* damage : {"flipped", "cut", "zeroed", "gone", "another"}) {
      INFO("seed " << seed << ", " << name << " " << damage);
      const TemporaryDirectory copy(quick_place());
      std::filesystem::copy(directory.path(), copy.path(), std::filesystem::copy_options::recursive);
      std::string bytes = lockstep::tools::read_file(copy.path() / name);
      const size_t at = random() % bytes.size();
      if (damage == std::string("flipped")) bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      if (damage == std::string("cut")) bytes.resize(at);
      if (damage == std::string("zeroed"))
        std::fill_n(bytes.begin() + std::min(at, bytes.size() - 40), 40, '\0');
      if (damage == std::string("another"))
        bytes = lockstep::tools::read_file(copy.path() / names[name == names[0] ? 1 : 0]);
      lockstep::tools::write_file(copy.path() / name, bytes);
      if (damage == std::string("gone")) std::filesystem::remove(copy.path() / name);
      std::mutex mutex;
      std::vector<std::string> told;
      auto engine = open_engine(options_of(model, copy.path()));
      engine->on_notice([&](const Notice& notice) {
        const std::lock_guard lock(mutex);
        if (!notice.detail) told.push_back(notice.text);
      });
      const Answer answer = ask(*engine, prompt, few(6));
      CHECK(same(answer, fresh));
      CHECK(answer.reply->cached_tokens == 0);
      CHECK(same(ask(*engine, prompt, few(6)), fresh));
      // A page that is not there is seen at the start: nothing depends on it then.
      CHECK(told.size() == (damage == std::string("gone") ? 0 : 1));
      CHECK(engine->status().snapshots.corrupt == told.size());
      engine.reset();
      // What is there now was written anew.
      for (const std::string& left : snapshot_files(copy.path()))
        CHECK_NOTHROW(check_record(copy.path(), left));
    }
}

TEST_CASE("F64 snapshots of another model, or laid out otherwise, are misses") {
  const TestModel dense = test_models()[1], experts = test_models()[2];
  const TemporaryDirectory directory(quick_place());
  std::mt19937 random(seed);
  Prompt prompt;
  prompt.tokens = random_tokens(random, 100);
  const auto cached = [&](const TestModel& model, const std::string& device) {
    Options options = options_of(model, directory.path());
    options.device = device;
    std::string lines;
    const auto engine = Engine::open(options, [&](const std::string& line) { lines += line + "\n"; });
    const int before = static_cast<int>(ask(*engine, prompt, few(1)).reply->cached_tokens);
    wait_for_saves(*engine, before ? 0 : 1);
    return std::pair(before, lines);
  };
  CHECK(cached(dense, "auto").first == 0);
  const auto [again, lines] = cached(dense, "auto");
  CHECK(again == 99);
  CHECK_THAT(lines, Catch::Contains("snapshots: 1 of this model, "));
  const auto [other, other_lines] = cached(experts, "auto");
  CHECK(other == 0);
  CHECK_THAT(other_lines, Catch::Contains("snapshots: 0 of this model, 1 of others, "));
  CHECK(cached(dense, "reference").first == 0);
  CHECK(cached(experts, "auto").first == 99);
  CHECK(cached(dense, "auto").first == 99);
}

TEST_CASE("without a directory that can be used, replies are the same and it is said once") {
  const TestModel model = test_models()[1];
  std::mt19937 random(seed);
  Prompt prompt;
  prompt.tokens = random_tokens(random, 100);
  const TemporaryDirectory directory(quick_place());
  lockstep::tools::write_file(directory.path() / "file", "x");
  const auto owner = open_engine(options_of(model, directory.path() / "used"));
  REQUIRE(owner->status().snapshots.on);
  const auto cold = open_engine(options_of(model, {}));
  const Answer fresh = ask(*cold, prompt, few(3));
  for (const auto& [place, what] : std::vector<std::pair<std::string, std::string>>{
           {"used", "is in use by another daemon"}, {"file/x", "cannot be written (Not a directory)"}}) {
    const auto engine = open_engine(options_of(model, directory.path() / place));
    std::vector<std::string> told;
    engine->on_notice([&](const Notice& notice) {
      if (!notice.detail) told.push_back(notice.text);
    });
    CHECK_FALSE(engine->status().snapshots.on);
    CHECK(same(ask(*engine, prompt, few(3)), fresh));
    REQUIRE(told.size() == 1);
    CHECK_THAT(told[0], Catch::Contains(what));
  }
}

TEST_CASE("the trace tells why a prompt was not known further") {
  const TestModel model = test_models()[1];
  const TemporaryDirectory directory(quick_place());
  const auto engine = open_engine(options_of(model, directory.path()));
  std::mutex mutex;
  std::string last;
  engine->on_notice([&](const Notice& notice) {
    const std::lock_guard lock(mutex);
    last = notice.text;
  });
  const auto line = [&](const std::vector<int32_t>& tokens) {
    Prompt prompt;
    prompt.tokens = tokens;
    ask(*engine, prompt, few(1));
    const std::lock_guard lock(mutex);
    return last;
  };
  std::vector<int32_t> tokens = numbered(5, 100);
  CHECK(line(tokens) == "prompt cache: 0 of 100 tokens known; nothing kept goes on from there");
  CHECK(line(tokens) == "prompt cache: 99 of 100 tokens known");
  tokens[60] = 1;
  CHECK(line(tokens) == "prompt cache: 0 of 100 tokens known; one that was kept is the same up to token 60");
  const Status::Cache counts = engine->status().cache;
  CHECK(counts.ended_differs == 1);
  CHECK(counts.ended_evicted == 0);
}
