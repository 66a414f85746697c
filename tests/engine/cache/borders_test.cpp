#include "engine/cache/borders.h"

#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

// Messages of the given lengths; each begins with token 7.
std::vector<int> positions(const std::vector<int>& lengths) {
  std::vector<int32_t> tokens;
  for (int length : lengths) {
    tokens.push_back(7);
    tokens.insert(tokens.end(), length - 1, 1);
  }
  std::vector<int> result;
  for (const Border& border : borders(tokens, 7))
    result.push_back(border.system ? -border.position : border.position);
  return result;
}

}  // namespace

TEST_CASE("borders: end of the system prompt, start of the last user turn, start of the reply") {
  CHECK(positions({100, 50, 60, 70, 5}) == std::vector<int>{-100, 210, 280});
  CHECK(positions({100, 50, 5}) == std::vector<int>{-100, 150});
  CHECK(positions({100, 5}) == std::vector<int>{100});
}

TEST_CASE("borders: near ones are left out, but for the last; long prompts have one every 2,048 tokens") {
  CHECK(positions({100, 10, 5}) == std::vector<int>{-100, 110});
  CHECK(positions({10, 50, 5}) == std::vector<int>{60});
  CHECK(positions({5000, 5}) == std::vector<int>{2048, 4096, 5000});
}

TEST_CASE("borders: a prompt without messages has one before its last token") {
  const std::vector<int32_t> tokens(40, 1);
  const auto found = borders(tokens, std::nullopt);
  REQUIRE(found.size() == 1);
  CHECK(found[0].position == 39);
  CHECK(borders(std::span(tokens).first(1), 7).empty());
  CHECK(borders({}, 7).empty());
}
