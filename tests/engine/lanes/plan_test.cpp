#include "engine/lanes/plan.h"

#include <random>

#include "engine/lanes/pace.h"
#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

std::vector<int> rows(const std::vector<LaneNeed>& needs, const RoundLimit& limit) {
  std::vector<int> result(needs.size(), 0);
  for (const LaneShare& share : plan(needs, limit)) result[share.lane] = share.rows;
  return result;
}

}  // namespace

TEST_CASE("a decoding lane always gets its row") {
  CHECK(rows({{1, 9, 1}, {1, 9, 2}, {3000, 0, 3}}, {64}) == std::vector<int>{1, 1, 64});
  CHECK(rows({{1, 9, 1}}, {0}) == std::vector<int>{1});
}

TEST_CASE("a short prompt does not wait behind a long one, and the long one gets on") {
  CHECK(rows({{3000, 0, 1}, {20, 0, 2}}, {64}) == std::vector<int>{44, 20});
  CHECK(rows({{3000, 0, 1}, {40, 0, 2}, {50, 0, 3}}, {64}) == std::vector<int>{32, 32, 0});
}

TEST_CASE("rows never exceed what a lane needs or the round holds") {
  CHECK(rows({{5, 0, 1}, {6, 0, 2}}, {512}) == std::vector<int>{5, 6});
  CHECK(rows({{500, 0, 1}, {500, 0, 2}}, {512}) == std::vector<int>{500, 12});
  CHECK(rows({}, {512}).empty());
}

TEST_CASE("F73 rows of prompts fit into the seconds of a round, however far into a text they are") {
  // 3 ms, rows of 0.1 ms that read earlier positions at 0.1 us each.
  const RoundLimit limit{512, 3e-3, {1e-4, 1e-7}};
  CHECK(rows({{1, 50, 1}, {3000, 0, 2}}, limit) == std::vector<int>{1, 29});
  CHECK(rows({{1, 50, 1}, {3000, 1000, 2}}, limit) == std::vector<int>{1, 14});
  CHECK(rows({{1, 50, 1}, {3000, 30000, 2}}, limit) == std::vector<int>{1, 1});
  // The short one is not kept waiting by a long one whose single rows are above the limit.
  CHECK(rows({{1, 50, 1}, {3000, 30000, 2}, {20, 0, 3}}, limit) == std::vector<int>{1, 1, 1});
}

TEST_CASE("F73 a round with prompts takes so many times what its decoding lanes take, for any costs") {
  const auto seed = GENERATE(range(0, 200));
  INFO("seed " << seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  const double decode = std::pow(10.0, -number(1, 4)), row = decode / number(1, 300);
  Pace pace(512);
  pace.begin({row, row / number(100, 100000)});
  std::vector<LaneNeed> needs;
  for (int lane = number(1, 8); lane > 0; --lane)
    needs.push_back({number(0, 2) ? number(2, 3000) : 1, number(0, 60000), static_cast<uint64_t>(lane)});
  const RoundLimit limit = pace.limit(decode);
  const std::vector<int> given = rows(needs, limit);
  // The oldest and the shortest get a row in any case.
  PromptWork work, without_single_rows;
  int all = 0;
  for (size_t i = 0; i < needs.size(); ++i) {
    if (needs[i].pending == 1) {
      CHECK(given[i] == 1);
      continue;
    }
    all += given[i];
    work.add(given[i], needs[i].position);
    if (given[i] > 1) without_single_rows.add(given[i], needs[i].position);
  }
  const double most = Pace::rounds * decode;
  CHECK(decode + without_single_rows.seconds(pace.cost()) <= most * (1 + 1e-9));
  CHECK(all <= limit.rows);
  // What there is, is used: a row more of anybody would be too much.
  for (size_t i = 0; i < needs.size() && all < limit.rows; ++i) {
    if (needs[i].pending == 1 || given[i] == needs[i].pending) continue;
    PromptWork more = work;
    more.add(1, needs[i].position + given[i]);
    CHECK(decode + more.seconds(pace.cost()) > most * (1 - 1e-9));
  }
}

TEST_CASE("F73 the costs of prompts follow what rounds take, and one hiccup hardly moves them") {
  // The machine: a row takes 0.4 ms and 0.2 us for each position before it.
  const PromptCost real{4e-4, 2e-7};
  Pace pace(512);
  pace.begin({1e-4, 1e-6});
  const double decode = 3e-3;
  const auto read = [&](double times) {
    for (int position = 0; position < 3000;) {
      const int count = rows({{3000, position, 1}}, pace.limit(decode))[0];
      PromptWork work;
      work.add(count, position);
      pace.measured(work, times * work.seconds(real));
      position += count;
    }
  };
  for (int prompt = 0; prompt < 10; ++prompt) read(1);
  CHECK(pace.cost().row == Approx(real.row).epsilon(0.1));
  CHECK(pace.cost().position == Approx(real.position).epsilon(0.1));
  const double before = pace.cost().row;
  PromptWork work;
  work.add(10, 0);
  pace.measured(work, 1000 * work.seconds(real));
  CHECK(pace.cost().row < 1.25 * before);
  read(2);
  read(2);
  CHECK(pace.cost().row == Approx(2 * real.row).epsilon(0.3));
  CHECK(pace.cost().position == Approx(2 * real.position).epsilon(0.3));
}
