// reference.json beside a model: what another implementation (transformers, fp32) computed from its weights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::test {

struct ReferencePrompt {
  std::vector<int32_t> ids, greedy_ids, top_ids;
  std::vector<float> top_logits;
  std::vector<int32_t> guesses;  // of the multi-token head: [j] at greedy_ids[j + 1]
  std::string text, greedy_text;
};
struct ReferenceFile {
  std::vector<ReferencePrompt> prompts;
  std::vector<int32_t> heldout_ids;
  double heldout_mean_nll;
};
ReferenceFile read_reference(const std::filesystem::path& file);

struct TestModel {
  std::string name;
  std::filesystem::path directory, reference;
};
// starter, tiny-dense, tiny-moe.
std::vector<TestModel> test_models();

}  // namespace lockstep::test
