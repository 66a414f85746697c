#include "engine/models/forward.h"

#include <cmath>
#include <cstring>
#include <iostream>

#include "tests/catch.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/solo.h"
#include "tests/engine/support/tried_devices.h"

using namespace lockstep;
using lockstep::engine::Forward;
using namespace lockstep::test;

namespace {

double log_probability(std::span<const float> logits, int32_t token) {
  double maximum = -INFINITY, sum = 0;
  for (float logit : logits) maximum = std::max<double>(maximum, logit);
  for (float logit : logits) sum += std::exp(logit - maximum);
  return logits[token] - maximum - std::log(sum);
}

}  // namespace

TEST_CASE("greedy continuations equal those of the reference implementation") {
  for (const TestModel& model : test_models()) {
    const ReferenceFile reference = read_reference(model.reference);
    Solo solo(model.directory, "auto", 1024);
    int same = 0, tokens = 0;
    for (const ReferencePrompt& prompt : reference.prompts) {
      INFO(model.name << ": " << prompt.text);
      solo.reset();
      std::vector<float> logits = solo.feed(prompt.ids, 512);
      for (size_t i = 0; i < prompt.greedy_ids.size(); ++i) {
        const int32_t token = largest(logits), wanted = prompt.greedy_ids[i];
        ++tokens;
        same += token == wanted;
        INFO("token " << i << ": logit " << logits[token] << " of " << token << " against " << logits[wanted]
                      << " of " << wanted);
        // A near tie may fall the other way; the gap that explains it is within the error of either side.
        CHECK(logits[token] - logits[wanted] < 2e-3f);
        if (token != wanted)
          std::cout << model.name << ": near tie, gap " << logits[token] - logits[wanted] << " at token " << i
                    << "\n";
        if (i + 1 < prompt.greedy_ids.size()) logits = solo.feed(std::span(&wanted, 1), 1);
      }
    }
    std::cout << model.name << ": " << same << " of " << tokens << " greedy tokens equal\n";
    CHECK(same * 100 >= tokens * 99);
  }
}

TEST_CASE("held-out likelihood agrees with the reference implementation") {
  for (const TestModel& model : test_models()) {
    const ReferenceFile reference = read_reference(model.reference);
    Solo solo(model.directory, "auto", 1024);
    double sum = 0;
    size_t at = 0;
    const std::vector<int32_t>& ids = reference.heldout_ids;
    while (at < ids.size()) {
      const size_t count = std::min<size_t>(128, ids.size() - at);
      const std::vector<float> logits = solo.feed_all(std::span(ids).subspan(at, count));
      const size_t vocabulary = solo.config().vocabulary;
      for (size_t i = 0; i < count && at + i + 1 < ids.size(); ++i)
        sum -= log_probability(std::span(logits).subspan(i * vocabulary, vocabulary), ids[at + i + 1]);
      at += count;
    }
    const double mean = sum / (ids.size() - 1);
    std::cout << model.name << ": mean negative log-likelihood " << mean << ", reference "
              << reference.heldout_mean_nll << ", difference " << mean - reference.heldout_mean_nll << "\n";
    CHECK(std::abs(mean - reference.heldout_mean_nll) < 1e-4);
  }
}

TEST_CASE("chunked = whole: prompt chunks of any size give the same logits") {
  for (const TestModel& model : test_models()) {
    const ReferenceFile reference = read_reference(model.reference);
    for (const std::string& device : kernels::implementations()) {
      if (device == "reference" && model.name == "starter") continue;  // covered by tiny ones, in less time
      std::vector<int32_t> ids = reference.heldout_ids;
      if (device == "reference") ids.resize(200);
      Solo solo(model.directory, device, 1024);
      const std::vector<float> whole = solo.feed(ids, 512);
      for (int chunk : {1, 7, 64}) {
        INFO(model.name << " on " << device << ", chunks of " << chunk);
        solo.reset();
        const std::vector<float> parts = solo.feed(ids, chunk);
        CHECK(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("whoever reads a state after guesses finds it with the rows that stand, and no others") {
  for (const TestModel& model : test_models()) {
    if (model.name == "starter") continue;
    for (const std::string& device : tried_devices()) {
      INFO(model.name << " on " << device);
      const std::vector<int32_t> ids = read_reference(model.reference).heldout_ids;
      const std::span all(ids);
      Solo solo(model.directory, device, 256);
      Forward& forward = solo.forward();
      const auto state = [&](int slot) {
        std::vector<std::byte> bytes(forward.state_bytes());
        forward.read_state(slot, bytes.data());
        return bytes;
      };
      // Rows 5 and 6, and two guesses of which the first stands.
      std::vector<int32_t> guessed(ids.begin() + 5, ids.begin() + 9);
      guessed[3] = ids[40];
      const auto guess = [&] {
        solo.reset();
        solo.feed(all.first(5), 5);
        solo.feed_guessed(guessed, 2, 3);
      };
      solo.feed(all.first(8), 8);
      const std::vector<float> next = solo.feed(all.subspan(8, 1), 1);
      solo.reset();
      solo.feed(all.first(8), 8);
      const std::vector<std::byte> wanted = state(0);
      guess();
      CHECK(state(0) == wanted);
      guess();
      forward.copy_state(0, 1);
      CHECK(state(1) == wanted);
      solo.reset();
      solo.feed(all.first(3), 3);
      const std::vector<std::byte> other = state(0);
      CHECK(other != wanted);
      guess();
      forward.write_state(0, other.data());
      CHECK(state(0) == other);
      guess();
      CHECK(solo.feed(all.subspan(8, 1), 1) == next);
      // Guesses after guesses, in the same shape and in another.
      for (const size_t again : {4, 3}) {
        solo.reset();
        solo.feed(all.first(1), 1);
        solo.feed_guessed(all.subspan(1, 4), 2, 4);
        solo.feed_guessed(all.subspan(5, again), 2, 3);
        CHECK(state(0) == wanted);
      }
      // As often as a GPU needs to keep a round and start it again, after rounds of its shape and of others.
      solo.reset();
      solo.feed(all.first(5), 5);
      size_t at = 5;
      for (const int rows : {4, 4, 4, 4, 3, 1, 3, 4, 3, 1, 3, 4, 3}) {
        const int stands = 1 + static_cast<int>(at) % rows;
        std::vector<int32_t> tokens(ids.begin() + at, ids.begin() + at + rows);
        for (int row = stands; row < rows; ++row) tokens[row] = ids[row];
        solo.feed_guessed(tokens, rows - 1, stands);
        at += stands;
      }
      const std::vector<std::byte> guessed_through = state(0);
      solo.reset();
      solo.feed(all.first(at), 7);
      CHECK(state(0) == guessed_through);
    }
  }
}
