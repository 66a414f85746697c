// The multi-token head against another implementation's guesses.
#include <iostream>

#include "tests/catch.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/solo.h"

using namespace lockstep::test;

TEST_CASE("the multi-token head guesses what the reference implementation guesses") {
  for (const TestModel& model : test_models()) {
    Solo solo(model.directory, "auto", 1024);
    size_t same = 0, all = 0, right = 0;
    for (const ReferencePrompt& prompt : read_reference(model.reference).prompts) {
      std::vector<int32_t> tokens = prompt.ids;
      tokens.insert(tokens.end(), prompt.greedy_ids.begin(), prompt.greedy_ids.end());
      tokens.pop_back();
      if (prompt.guesses.size() + 1 > prompt.greedy_ids.size() || prompt.guesses.empty()) continue;
      solo.reset();
      const std::vector<int32_t> guesses = solo.guesses(tokens, static_cast<int>(prompt.ids.size()));
      for (size_t j = 0; j < prompt.guesses.size(); ++j) {
        if (prompt.guesses[j] >= solo.config().vocabulary / 4) continue;  // not among those it guesses
        same += guesses[j] == prompt.guesses[j];
        right += guesses[j] == prompt.greedy_ids[j + 1];
        ++all;
      }
    }
    std::cout << model.name << ": " << same << " of " << all << " guesses are the reference's; " << right
              << " are right\n";
    REQUIRE(all > 100);
    CHECK(same * 100 >= all * 98);  // near ties
  }
}

TEST_CASE("F69 the head guesses as well far into a text as at its start") {
  const TestModel model = test_models().front();
  const std::vector<int32_t> text = read_reference(model.reference).heldout_ids;
  Solo solo(model.directory, "auto", 1024);
  std::vector<double> right;
  for (const size_t end : {size_t{72}, text.size() / 2, text.size()}) {
    solo.reset();
    const auto tokens = std::span(text).first(end - 1);
    const int from = static_cast<int>(end) - 1 - 64;
    const std::vector<int32_t> guesses = solo.guesses(tokens, from);
    int count = 0;
    for (int j = 0; j < 64; ++j) count += guesses[j] == text[from + j + 1];
    right.push_back(count / 64.0);
  }
  std::cout << "right guesses at the start, in the middle and at the end of " << text.size()
            << " tokens: " << right[0] << ", " << right[1] << ", " << right[2] << "\n";
  for (double share : right) CHECK(share > 0.15);
}
