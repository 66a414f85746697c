// Random texts against the ids of Hugging Face's tokenizers (tests/tools/golden_tokens.mjs).
#include <pthread.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>

#include "engine/tokenizer/tokenizer.h"
#include "tests/catch.h"

namespace lockstep::engine {
namespace {

const std::filesystem::path source = LOCKSTEP_SOURCE_DIR;

// The variant's tokenizer.json: a file of the repository with some places edited.
std::string tokenizer_json(simdjson::dom::element variant) {
  std::ifstream stream(source / std::string_view(variant["file"]));
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (const auto edit : variant["replace"].get_array()) {
    const std::string_view from = edit.at(0), to = edit.at(1);
    const size_t at = text.find(from);
    REQUIRE(at != text.npos);
    text.replace(at, from.size(), to);
  }
  return text;
}

void compare(std::string_view name, size_t least) {
  simdjson::dom::parser parser;
  const auto golden = parser.load((source / "tests/data/tokenizer/golden.json").string());
  size_t samples = 0;
  for (const auto variant : golden["variants"].get_array()) {
    if (std::string_view(variant["name"]) != name) continue;
    const Tokenizer tokenizer = Tokenizer::parse(tokenizer_json(variant));
    for (const auto sample : variant["samples"].get_array()) {
      const std::string_view text = sample.at(0);
      std::vector<int32_t> ids;
      for (const int64_t id : sample.at(1).get_array()) ids.push_back(static_cast<int32_t>(id));
      CAPTURE(text);
      CHECK(tokenizer.encode(text, true) == ids);
      ++samples;
    }
  }
  CHECK(samples >= least);
}

TEST_CASE("F42 F43 the starter's ids equal Hugging Face's on random texts") { compare("starter", 2600); }

TEST_CASE("F42 the Qwen2 and Qwen3 expression splits as Hugging Face does") {
  compare("Qwen2 and Qwen3 expression", 800);
}

TEST_CASE("F44 flags of added tokens act as in Hugging Face's tokenizers") {
  compare("added-token flags", 900);
}

// Runs `work` on a thread with the smallest stack there is (a sanitizer's frames need more).
void on_small_stack(const std::function<void()>& work) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const size_t stack = 256 << 10;
#else
  const auto stack = static_cast<size_t>(sysconf(_SC_THREAD_STACK_MIN));
#endif
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, stack) == 0);
  pthread_t thread;
  const auto run = [](void* context) -> void* {
    (*static_cast<const std::function<void()>*>(context))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

uint32_t hash(const std::vector<int32_t>& ids) {  // FNV-1a
  uint32_t sum = 0x811c9dc5;
  for (const int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      sum = (sum ^ (static_cast<uint32_t>(id) >> shift & 255)) * 0x01000193;
  return sum;
}

TEST_CASE("F41 one long word takes near linear time and a small stack") {
  const Tokenizer tokenizer = Tokenizer::load(source / "packaging/starter");
  simdjson::dom::parser parser;
  const auto golden = parser.load((source / "tests/data/tokenizer/golden.json").string());
  size_t runs = 0;
  for (const auto run : golden["long"].get_array()) {
    const std::string_view unit = run.at(0);
    const int64_t count = run.at(1), size = run.at(2), sum = run.at(3);
    std::string text;
    for (int64_t i = 0; i < count; ++i) text += unit;
    CAPTURE(unit.substr(0, 4), count);
    std::vector<int32_t> ids;
    on_small_stack(
        [&] { ids = tokenizer.encode(text, false); });  // quadratic time would meet the test's limit
    CHECK(ids.size() == static_cast<size_t>(size));
    CHECK(hash(ids) == static_cast<uint32_t>(sum));
    ++runs;
  }
  CHECK(runs == 6);
}

TEST_CASE("F41 long runs of combining marks take near linear time") {
  const Tokenizer tokenizer = Tokenizer::load(source / "packaging/starter");
  std::string marks = "a";  // out of canonical order at every second one
  for (int i = 0; i < 250000; ++i) marks += "\u0301\u0323";
  std::string sorted = "\u1ea1";  // the first dot below has joined the a
  for (int i = 1; i < 250000; ++i) sorted += "\u0323";
  for (int i = 0; i < 250000; ++i) sorted += "\u0301";
  std::vector<int32_t> ids;
  on_small_stack([&] { ids = tokenizer.encode(marks, false); });
  CHECK((tokenizer.decode(ids, false) == sorted));
}

}  // namespace
}  // namespace lockstep::engine
