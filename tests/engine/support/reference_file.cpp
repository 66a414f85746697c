#include "tests/engine/support/reference_file.h"

#include <simdjson.h>

namespace lockstep::test {
namespace {

template <class T>
std::vector<T> numbers(simdjson::dom::element list) {
  std::vector<T> values;
  for (simdjson::dom::element value : list.get_array()) values.push_back(static_cast<T>(double(value)));
  return values;
}

std::string text_of(simdjson::dom::element value) { return std::string(std::string_view(value)); }

}  // namespace

ReferenceFile read_reference(const std::filesystem::path& file) {
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.load(file.string());
  ReferenceFile result;
  for (simdjson::dom::element p : root["prompts"].get_array())
    result.prompts.push_back({numbers<int32_t>(p["ids"]), numbers<int32_t>(p["greedy_ids"]),
                              numbers<int32_t>(p["top_ids"]), numbers<float>(p["top_logits"]),
                              numbers<int32_t>(p["draft"]["greedy_guesses"]), text_of(p["text"]),
                              text_of(p["greedy_text"])});
  result.heldout_ids = numbers<int32_t>(root["heldout"]["ids"]);
  result.heldout_mean_nll = double(root["heldout"]["mean_nll"]);
  return result;
}

std::vector<TestModel> test_models() {
  const std::filesystem::path source = LOCKSTEP_SOURCE_DIR;
  std::vector<TestModel> models;
  for (const char* name : {"starter", "tiny-dense", "tiny-moe"}) {
    const auto data = source / "tests/data" / name;
    models.push_back({name, std::string(name) == "starter" ? source / "packaging/starter" : data,
                      data / "reference.json"});
  }
  return models;
}

}  // namespace lockstep::test
