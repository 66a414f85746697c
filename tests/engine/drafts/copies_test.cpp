#include "engine/drafts/copies.h"

#include <random>

#include "tests/catch.h"

using lockstep::engine::Copies;

TEST_CASE("copies guess what followed the last time") {
  Copies copies;
  std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6, 7};
  copies.extend(tokens);
  CHECK(copies.chance() == 0);
  tokens.insert(tokens.end(), {2, 3, 4});
  copies.extend(tokens);
  REQUIRE(copies.chance() > 0);
  CHECK(copies.guess(tokens, 3) == std::vector<int32_t>{5, 6, 7});
  // Beyond the end of what is known it goes on with its own guesses.
  CHECK(copies.guess(tokens, 9) == std::vector<int32_t>{5, 6, 7, 2, 3, 4, 5, 6, 7});
  tokens.push_back(99);
  copies.extend(tokens);
  CHECK(copies.chance() == 0);
}

TEST_CASE("of several occurrences the last one is copied") {
  Copies copies;
  const std::vector<int32_t> tokens = {1, 2, 3, 10, 1, 2, 3, 20, 1, 2, 3};
  copies.extend(tokens);
  CHECK(copies.guess(tokens, 2) == std::vector<int32_t>{20, 1});
}

TEST_CASE("a text that repeats is trusted, one that never does as told is not") {
  Copies repeating, breaking;
  std::vector<int32_t> tokens;
  for (int i = 0; i < 200; ++i) tokens.push_back(i % 5);
  repeating.extend(tokens);
  CHECK(repeating.chance() > 0.95);
  // The same three tokens, and each time another one after them.
  tokens.clear();
  for (int i = 0; i < 60; ++i) tokens.insert(tokens.end(), {1, 2, 3, 100 + i});
  tokens.insert(tokens.end(), {1, 2, 3});
  breaking.extend(tokens);
  CHECK(breaking.chance() > 0);
  CHECK(breaking.chance() < 0.05);
}

TEST_CASE("extending by pieces is extending at once") {
  std::mt19937 random(3);
  std::vector<int32_t> tokens(400);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 3);
  Copies whole, pieces;
  whole.extend(tokens);
  for (size_t end = 1; end <= tokens.size(); end += 1 + random() % 7)
    pieces.extend(std::span<const int32_t>(tokens).first(end));
  pieces.extend(tokens);
  CHECK(whole.chance() == pieces.chance());
  REQUIRE(whole.chance() > 0);
  CHECK(whole.guess(tokens, 8) == pieces.guess(tokens, 8));
}
