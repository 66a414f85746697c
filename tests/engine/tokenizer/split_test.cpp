// Words against those that Hugging Face's tokenizers cut by the same expressions.
#include "engine/tokenizer/split.h"

#include <simdjson.h>

#include <filesystem>

#include "tests/catch.h"

namespace lockstep::engine {
namespace {

TEST_CASE("F42 words are what the expressions match") {
  simdjson::dom::parser parser;
  const auto path = std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/data/tokenizer/golden.json";
  const auto golden = parser.load(path.string());
  size_t samples = 0;
  for (const auto part : golden["words"].get_array()) {
    const auto rule = split_rule(std::string_view(part["expression"]));
    REQUIRE(rule);
    for (const auto sample : part["samples"].get_array()) {
      const std::string_view text = sample.at(0);
      std::vector<size_t> expected, lengths;
      for (const uint64_t length : sample.at(1).get_array()) expected.push_back(length);
      for (size_t at = 0; at < text.size(); at += lengths.back())
        lengths.push_back(word_length(*rule, text, at));
      CAPTURE(text);
      CHECK(lengths == expected);
      ++samples;
    }
  }
  CHECK(samples == 2000);
}

TEST_CASE("F42 expressions that are not known have no rule") {
  CHECK_FALSE(split_rule(""));
  CHECK_FALSE(split_rule("\\p{L}+"));
}

}  // namespace
}  // namespace lockstep::engine
