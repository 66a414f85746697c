// The shipped tokenizers against ids that Hugging Face's own implementation gave.
#include "engine/tokenizer/tokenizer.h"

#include <simdjson.h>

#include "tests/catch.h"

namespace lockstep::engine {
namespace {

const std::filesystem::path source = LOCKSTEP_SOURCE_DIR;

std::vector<int32_t> numbers(simdjson::dom::element list) {
  std::vector<int32_t> out;
  for (const int64_t value : list.get_array()) out.push_back(static_cast<int32_t>(value));
  return out;
}

TEST_CASE("the shipped models' reference texts give the reference's ids") {
  const auto [data, directory] =
      GENERATE(std::pair("starter", "packaging/starter"), std::pair("tiny-dense", "tests/data/tiny-dense"),
               std::pair("tiny-moe", "tests/data/tiny-moe"));
  CAPTURE(data);
  const Tokenizer tokenizer = Tokenizer::load(source / directory);
  simdjson::dom::parser parser;
  const auto reference = parser.load((source / "tests/data" / data / "reference.json").string());
  int texts = 0;
  for (const auto prompt : reference["prompts"].get_array()) {
    std::string_view text;
    if (prompt["text"].get(text)) continue;
    CAPTURE(text);
    const std::vector<int32_t> ids = numbers(prompt["ids"]);
    CHECK(tokenizer.encode(text, true) == ids);
    CHECK(tokenizer.decode(ids, false) == text);
    const std::string_view reply = prompt["greedy_text"];
    CHECK(tokenizer.decode(numbers(prompt["greedy_ids"]), false) == reply);
    ++texts;
  }
  CHECK(texts == 12);
  const std::string_view heldout = reference["heldout"]["text"];
  CHECK(tokenizer.encode(heldout, false) == numbers(reference["heldout"]["ids"]));
}

}  // namespace
}  // namespace lockstep::engine
