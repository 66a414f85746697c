#include "engine/cache/prompt_cache.h"

#include <numeric>
#include <random>

#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

std::vector<int32_t> count_from(int32_t first, int length) {
  std::vector<int32_t> tokens(length);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// Keeps a prefix in pages of its own, as a lane that ends does.
bool store(PromptCache& cache, PagePool& pool, const std::vector<int32_t>& tokens, bool border = false) {
  std::vector<int32_t> pages;
  for (size_t i = 0; i < tokens.size(); i += 64) pages.push_back(pool.take());
  const int slot = cache.make_room(pages);
  if (slot >= 0) cache.add(tokens, pages, slot, border);
  pool.give_back(pages);
  return slot >= 0;
}

}  // namespace

TEST_CASE("the longest entry that is a proper prefix is found, and only by its tokens") {
  PagePool pool(16);
  PromptCache cache(pool, {0, 1, 2}, 8);
  const auto tokens = count_from(1, 200);
  REQUIRE(store(cache, pool, {tokens.begin(), tokens.begin() + 50}));
  REQUIRE(store(cache, pool, {tokens.begin(), tokens.begin() + 120}));
  REQUIRE(store(cache, pool, tokens));
  CHECK(cache.find(tokens)->tokens.size() == 120);
  CHECK(cache.find(std::span(tokens).first(120))->tokens.size() == 50);
  CHECK(cache.find(std::span(tokens).first(50)) == nullptr);
  auto other = tokens;
  other[49] = 0;
  CHECK(cache.find(other) == nullptr);
  CHECK(cache.counts().hits == 2);
  CHECK(cache.counts().misses == 2);
}

TEST_CASE("F66 the caps on slots and pages hold, the least recently used goes first, a system prompt last") {
  PagePool pool(100);
  PromptCache cache(pool, {0, 1, 2}, 4);
  const auto system = count_from(1, 64), first = count_from(1000, 64), second = count_from(2000, 64);
  REQUIRE(store(cache, pool, system, true));
  REQUIRE(store(cache, pool, first));
  REQUIRE(store(cache, pool, second));
  CHECK(cache.find(count_from(1000, 65)) != nullptr);  // now `second` is the least recently used
  REQUIRE(store(cache, pool, count_from(3000, 64)));
  CHECK(cache.has(system));
  CHECK(cache.has(first));
  CHECK_FALSE(cache.has(second));
  CHECK_FALSE(
      store(cache, pool, count_from(4000, 64 * 5)));  // larger than the cap: skipped, nothing thrown out
  CHECK(cache.entries() == 3);
  std::mt19937 random(5);
  for (int i = 0; i < 10000; ++i) {
    store(cache, pool, count_from(10000 + 100 * i, 1 + static_cast<int>(random() % 200)));
    REQUIRE(cache.pages_held() <= 4);
    REQUIRE(cache.entries() <= 3);
    REQUIRE(pool.available() == 100 - cache.pages_held());
  }
  while (cache.evict()) continue;
  CHECK(pool.available() == 100);
}

TEST_CASE("entries of one conversation share their pages") {
  PagePool pool(10);
  PromptCache cache(pool, {0, 1}, 3);
  const auto tokens = count_from(1, 192);
  std::vector<int32_t> pages = {pool.take(), pool.take(), pool.take()};
  cache.add(std::span(tokens).first(128), std::span(pages).first(2),
            cache.make_room(std::span(pages).first(2)), false);
  cache.add(tokens, pages, cache.make_room(pages), false);
  CHECK(cache.pages_held() == 3);
  pool.give_back(pages);
  CHECK(pool.available() == 7);
  cache.evict();
  CHECK(pool.available() == 7);
  cache.evict();
  CHECK(pool.available() == 10);
}
