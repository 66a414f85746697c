// The multi-token head against another implementation's guesses.
#include <algorithm>
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
        if (prompt.guesses[j] >= solo.draft_vocabulary()) continue;  // not among those it guesses
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

TEST_CASE("F69 the head guesses a reply as well after a long text as after none") {
  const TestModel model = test_models().front();
  const ReferenceFile reference = read_reference(model.reference);
  const auto longest =
      std::ranges::max_element(reference.prompts, {}, [](const auto& p) { return p.guesses.size(); });
  Solo solo(model.directory, "auto", 1024, 1024);
  constexpr int reply = 48;
  for (const size_t before : {size_t{0}, reference.heldout_ids.size() / 2, reference.heldout_ids.size()}) {
    std::vector<int32_t> tokens(reference.heldout_ids.begin(), reference.heldout_ids.begin() + before);
    tokens.insert(tokens.end(), longest->ids.begin(), longest->ids.end());
    const int from = static_cast<int>(tokens.size());
    solo.reset();
    std::vector<float> logits = solo.feed(tokens, 512);
    while (static_cast<int>(tokens.size()) < from + reply + 1) {
      tokens.push_back(largest(logits));
      logits = solo.feed({&tokens.back(), 1}, 1);
    }
    solo.reset();
    const std::vector<int32_t> guesses = solo.guesses(std::span(tokens).first(from + reply), from);
    int right = 0;
    for (int j = 0; j < reply; ++j) right += guesses[j] == tokens[from + j + 1];
    std::cout << "after " << before << " tokens " << right << " of " << reply << " guesses are right\n";
    CHECK(right * 10 >= reply * 7);
  }
}
