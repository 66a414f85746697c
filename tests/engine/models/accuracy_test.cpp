// The logits' error against the reference implementation (fp32), beside that of bf16 activations.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/catch.h"
#include "tests/engine/support/plain_forward.h"
#include "tests/engine/support/reference_file.h"
#include "tests/engine/support/solo.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Root of the mean squared error over the reference's largest logits.
template <class T>
double error_of(const std::vector<T>& logits, const ReferencePrompt& prompt) {
  double sum = 0;
  for (size_t i = 0; i < prompt.top_ids.size(); ++i) {
    const double d =
        static_cast<double>(logits[prompt.top_ids[i]]) - static_cast<double>(prompt.top_logits[i]);
    sum += d * d;
  }
  return std::sqrt(sum / static_cast<double>(prompt.top_ids.size()));
}

}  // namespace

TEST_CASE("logits are nearer to the reference implementation than with bf16 activations") {
  for (const TestModel& model : test_models()) {
    ReferenceFile reference = read_reference(model.reference);
    // The shortest prompts: the plain forward is slow.
    std::ranges::sort(reference.prompts, {}, [](const ReferencePrompt& p) { return p.ids.size(); });
    reference.prompts.resize(std::min<size_t>(reference.prompts.size(), model.name == "starter" ? 1 : 4));
    Solo solo(model.directory, "auto", 1024);
    double exact = 0, ours = 0, bf16 = 0;
    for (const ReferencePrompt& prompt : reference.prompts) {
      solo.reset();
      exact = std::max(exact, error_of(PlainForward(solo.checkpoint(), false).logits(prompt.ids), prompt));
      ours = std::max(ours, error_of(solo.feed(prompt.ids, 512), prompt));
      bf16 = std::max(bf16, error_of(PlainForward(solo.checkpoint(), true).logits(prompt.ids), prompt));
    }
    std::cout << model.name << ": error of logits " << ours << ", with bf16 activations " << bf16
              << ", of a plain fp64 forward " << exact << "\n";
    CHECK(exact < 1e-4);
    CHECK(ours < 5e-3);
    CHECK(ours < bf16 / 3);
  }
}
