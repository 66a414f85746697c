#include "engine/lanes/plan.h"

#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

std::vector<int> rows(const std::vector<LaneNeed>& needs, int prompt_rows) {
  std::vector<int> result(needs.size(), 0);
  for (const LaneShare& share : plan(needs, prompt_rows)) result[share.lane] = share.rows;
  return result;
}

}  // namespace

TEST_CASE("a decoding lane always gets its row") {
  CHECK(rows({{1, 1}, {1, 2}, {3000, 3}}, 64) == std::vector<int>{1, 1, 64});
  CHECK(rows({{1, 1}}, 0) == std::vector<int>{1});
}

TEST_CASE("a short prompt does not wait behind a long one, and the long one gets on") {
  CHECK(rows({{3000, 1}, {20, 2}}, 64) == std::vector<int>{44, 20});
  CHECK(rows({{3000, 1}, {40, 2}, {50, 3}}, 64) == std::vector<int>{32, 32, 0});
}

TEST_CASE("rows never exceed what a lane needs or the round holds") {
  CHECK(rows({{5, 1}, {6, 2}}, 512) == std::vector<int>{5, 6});
  CHECK(rows({{500, 1}, {500, 2}}, 512) == std::vector<int>{500, 12});
  CHECK(rows({}, 512).empty());
}
