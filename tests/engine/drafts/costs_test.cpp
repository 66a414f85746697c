#include "engine/drafts/costs.h"

#include "tests/catch.h"

using namespace lockstep::engine;

namespace {

// A device on which each row costs `row` of what a round costs anyway.
RoundCosts costs_with(double row, double draft) {
  RoundCosts costs;
  for (int rows : {1, 2, 4, 8, 16, 32}) {
    costs.round.measured(rows, 1 + row * rows);
    costs.draft.measured(rows, draft);
  }
  return costs;
}

std::vector<int> depths(int lanes, DraftOffer offer, const RoundCosts& costs, int rows = 32,
                        double gain = 1.02) {
  return choose_depths(std::vector<DraftOffer>(lanes, offer), costs, rows, gain).of;
}

}  // namespace

TEST_CASE("times between measured numbers of rows lie on a line, beyond them the line goes on") {
  TimeByRows times;
  CHECK(times.at(1) == 0);
  times.measured(2, 1.0);
  CHECK(times.at(1) == 1.0);
  CHECK(times.at(9) == 1.0);
  times.measured(4, 2.0);
  CHECK(times.at(3) == 1.5);
  CHECK(times.at(6) == 3.0);
}

TEST_CASE("one hiccup moves a time little, a slower machine carries all of them along") {
  TimeByRows times;
  times.measured(1, 1.0);
  times.measured(8, 2.0);
  times.measured(1, 100.0);
  CHECK(times.at(1) < 1.25);
  for (int i = 0; i < 200; ++i) times.measured(1, 3.0);
  CHECK(times.at(1) > 2.9);
  CHECK(times.at(1) < 3.1);
  CHECK(times.at(8) > times.at(1) * 1.2);
}

TEST_CASE("a machine that is slower for a while leaves the times nearly in proportion") {
  RoundCosts costs;
  costs.measured_round(1, 1.0);
  costs.measured_round(2, 1.4);
  costs.draft.measured(1, 0.2);
  for (int i = 0; i < 300; ++i) costs.measured_round(2, 1.4 * 1.5);
  CHECK(costs.round.at(2) == Approx(1.4 * 1.5).epsilon(0.01));
  CHECK(costs.round.at(2) / costs.round.at(1) < 1.4 * 1.11);
  CHECK(costs.draft.at(1) > 0.2 * 1.5 / 1.11);
  CHECK(costs.draft.at(1) < 0.2 * 1.5);
  // What rows cost by themselves is found out too.
  for (int i = 0; i < 500; ++i) {
    costs.measured_round(1, 1.0);
    costs.measured_round(2, 1.2);
  }
  CHECK(costs.round.at(2) / costs.round.at(1) == Approx(1.2).epsilon(0.01));
}

TEST_CASE("guesses are made where they pay and only there") {
  const RoundCosts memory_bound = costs_with(0.01, 0.05), compute_bound = costs_with(5, 0.5);
  const DraftOffer good{{0.9, 0.9}, 8, true}, bad{{0.05, 0.05}, 8, true}, copied{{0.9, 0.9}, 8, false};
  CHECK(depths(1, good, memory_bound)[0] >= 4);
  CHECK(depths(1, bad, memory_bound)[0] == 0);
  CHECK(depths(1, good, compute_bound)[0] == 0);
  CHECK(depths(1, copied, memory_bound)[0] >= depths(1, good, memory_bound)[0]);
  // Many lanes share the rows.
  int rows = 0;
  for (int depth : depths(16, good, memory_bound)) rows += 1 + depth;
  CHECK(rows <= 32);
  CHECK(rows > 16);
  CHECK(depths(32, good, memory_bound) == std::vector<int>(32, 0));
  CHECK(depths(40, good, memory_bound) == std::vector<int>(40, 0));
  // No more than there is room for, none for those that want none, none before times are known.
  CHECK(depths(1, {{0.99, 0.99}, 2, true}, memory_bound)[0] == 2);
  CHECK(depths(1, {{0.99, 0.99}, 0, true}, memory_bound)[0] == 0);
  CHECK(depths(1, good, RoundCosts{})[0] == 0);
}

TEST_CASE("lanes that guess well get more of the rows") {
  const RoundCosts costs = costs_with(0.03, 0);
  const std::vector<DraftOffer> offers = {{{0.95, 0.95}, 8, false}, {{0.3, 0.3}, 8, false}};
  const std::vector<int> depth = choose_depths(offers, costs, 8, 1.02).of;
  CHECK(depth[0] > depth[1]);
}

TEST_CASE("a first guess that is good and later ones that are not: one guess") {
  CHECK(depths(1, {{0.95, 0.1}, 8, true}, costs_with(0.1, 0.1)) == std::vector<int>{1});
}

TEST_CASE("a promise below the least gain is not taken") {
  const RoundCosts costs = costs_with(0.5, 0);
  const DraftOffer offer{{0.45, 0.45}, 1, false};
  const double gain = 1.45 / 2.0 * 1.5;
  CHECK(depths(1, offer, costs, 32, gain - 0.01)[0] == 1);
  CHECK(depths(1, offer, costs, 32, gain + 0.01)[0] == 0);
}

TEST_CASE("a guess that is not worth its row is one with less of a chance than the row costs") {
  // A row costs a fifth of a round, and a round with one good guess gives nearly two tokens.
  const DraftOffer good{{0.9, 0.1}, 1, true};
  const RoundCosts costs = costs_with(0.25, 0.05);
  const Depths depths = choose_depths({&good, 1}, costs, 32, 1.02);
  CHECK(depths.of == std::vector<int>{1});
  CHECK(depths.least_chance == Approx(0.25 * 1.9 / (1.5 + 0.05)));
  // Where rows cost nothing any guess is worth a try.
  CHECK(choose_depths({&good, 1}, costs_with(0, 0.05), 32, 1.02).least_chance < 1e-6);
}
