// Random texts against the ids of Hugging Face's tokenizers (tests/tools/golden_tokens.mjs).
#include <simdjson.h>

#include <fstream>
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

}  // namespace
}  // namespace lockstep::engine
