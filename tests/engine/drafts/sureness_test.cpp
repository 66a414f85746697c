#include "engine/drafts/sureness.h"

#include "tests/catch.h"

using namespace lockstep::engine;

TEST_CASE("a head that is surer is right more often, before anything is known") {
  const Sureness sureness;
  for (int step : {0, 1, 2}) {
    double before = 0;
    for (float sure : {0.0f, 0.3f, 0.5f, 0.7f, 0.8f, 0.95f, 1.0f}) {
      CHECK(sureness.chance(step, sure) > before);
      before = sureness.chance(step, sure);
    }
    CHECK(before < 1);
  }
  CHECK(sureness.chance(1, 0.99f) < sureness.chance(0, 0.99f));
}

TEST_CASE("what guesses did is learned for as sure ones at such a step, and for no others") {
  Sureness sureness;
  const double first = sureness.chance(0, 0.99f), unsure = sureness.chance(1, 0.3f);
  for (int i = 0; i < 200; ++i) sureness.tested(2, 0.98f, false);
  CHECK(sureness.chance(1, 0.99f) < 0.01);
  CHECK(sureness.chance(0, 0.99f) == first);
  CHECK(sureness.chance(1, 0.3f) == unsure);
  for (int i = 0; i < 200; ++i) sureness.tested(1, 0.3f, true);
  CHECK(sureness.chance(3, 0.25f) > 0.99);
}
