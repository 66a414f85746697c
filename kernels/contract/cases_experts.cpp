// Cases of router, combine_experts and candidates.
#include <algorithm>

#include "kernels/contract/cases.h"

namespace lockstep::kernels::contract {

namespace {

Case router_case(Data& data, int rows, int experts, int top, Kind kind, int planted) {
  std::vector<float> logits = data.floats(rows, experts, kind);
  data.plant(logits, planted);
  return {std::to_string(top) + " of " + std::to_string(experts) + ", " + std::to_string(rows) + " rows",
          [=](Stage& stage, const std::vector<int>& units) {
            const int n = static_cast<int>(units.size());
            const float* input = stage.input(rows_of(logits, units, experts));
            stage.device().run(Router{n, experts, top, input, stage.output<int32_t>("expert", n, top),
                                      stage.output<float>("weight", n, top)});
          },
          single_rows(rows)};
}

// A row that is not finite leaves all but `finite` unspecified.
void forget_unspecified(Results& results) {
  const std::vector<uint8_t> finite = results.array("finite").bytes;
  for (size_t row = 0; row < finite.size() / 4; ++row) {
    if (finite[4 * row]) continue;
    for (Array& array : results.arrays) {
      if (array.name == "finite" || !array.row_wise) continue;
      std::fill_n(array.bytes.begin() + static_cast<ptrdiff_t>(row * array.row_bytes), array.row_bytes,
                  uint8_t{0});
    }
  }
}

Case candidates_case(Data& data, int rows, int vocabulary, int count, Kind kind, int planted) {
  std::vector<float> logits = data.floats(rows, vocabulary, kind);
  data.plant(logits, planted);
  return {std::to_string(count) + " of " + std::to_string(vocabulary) + ", " + std::to_string(rows) + " rows",
          [=](Stage& stage, const std::vector<int>& units) {
            const int n = static_cast<int>(units.size());
            const float* input = stage.input(rows_of(logits, units, vocabulary));
            stage.device().run(
                Candidates{n, vocabulary, count, input, stage.output<int32_t>("id", n, count),
                           stage.output<float>("logit", n, count), stage.output<float>("maximum", n, 1),
                           stage.output<float>("log_sum", n, 1), stage.output<int32_t>("finite", n, 1)});
          },
          single_rows(rows), forget_unspecified};
}

}  // namespace

std::vector<Case> cases(const Router*, Data& data) {
  std::vector<Case> list;
  for (const auto& [experts, top] : std::vector<std::pair<int, int>>{
           {1, 1}, {2, 2}, {8, 2}, {13, 5}, {31, 8}, {64, 6}, {128, 8}, {256, 8}, {512, 10}}) {
    for (const Kind kind : {Kind::normal, Kind::ties, Kind::mixed}) {
      list.push_back(router_case(data, 9, experts, top, kind, 0));
    }
  }
  for (const int rows : {1, 2, 33}) list.push_back(router_case(data, rows, 128, 8, Kind::normal, 0));
  list.push_back(router_case(data, 20, 64, 8, Kind::normal, 18));
  list.push_back(router_case(data, 20, 8, 3, Kind::ties, 36));
  list.push_back(router_case(data, 5, 16, 4, Kind::huge, 0));
  list.push_back(router_case(data, 2, 40, 6, Kind::zeros, 0));
  return list;
}

std::vector<Case> cases(const CombineExperts*, Data& data) {
  std::vector<Case> list;
  const auto add = [&](int rows, int top, int length, Kind kind, int planted) {
    std::vector<float> routed = data.floats(rows * top, length, kind),
                       shared = data.floats(rows, length, kind);
    std::vector<float> weight = data.floats(rows, top), gate = data.floats(rows, 1, kind);
    for (std::vector<float>* x : {&routed, &shared, &weight, &gate}) data.plant(*x, planted);
    list.push_back(
        {std::to_string(top) + " experts, " + std::to_string(rows) + " rows of " + std::to_string(length),
         [=](Stage& stage, const std::vector<int>& units) {
           const int n = static_cast<int>(units.size());
           const float* y = stage.input(rows_of(routed, units, top * length));
           const float* w = stage.input(rows_of(weight, units, top));
           const float* s = stage.input(rows_of(shared, units, length));
           const float* g = stage.input(rows_of(gate, units, 1));
           stage.device().run(
               CombineExperts{n, top, length, y, w, s, g, stage.output<float>("out", n, length)});
         },
         single_rows(rows)});
  };
  add(1, 1, 1, Kind::normal, 0);
  add(2, 8, 2048, Kind::normal, 0);
  add(33, 4, 129, Kind::mixed, 0);
  add(5, 2, 100, Kind::huge, 0);
  add(5, 3, 63, Kind::tiny, 0);
  add(17, 3, 64, Kind::normal, 4);
  return list;
}

std::vector<Case> cases(const Candidates*, Data& data) {
  std::vector<Case> list;
  for (const auto& [vocabulary, count] : std::vector<std::pair<int, int>>{
           {1, 1}, {2, 2}, {31, 31}, {33, 5}, {256, 256}, {257, 1}, {1000, 256}, {2048, 64}, {4099, 20}}) {
    for (const Kind kind : {Kind::normal, Kind::ties, Kind::mixed, Kind::huge}) {
      list.push_back(candidates_case(data, 3, vocabulary, count, kind, 0));
    }
  }
  list.push_back(candidates_case(data, 2, 32003, 256, Kind::normal, 0));
  list.push_back(candidates_case(data, 1, 151937, 40, Kind::normal, 0));
  list.push_back(candidates_case(data, 33, 512, 16, Kind::outliers, 0));
  list.push_back(candidates_case(data, 20, 300, 10, Kind::normal, 9));
  list.push_back(candidates_case(data, 2, 100, 100, Kind::zeros, 0));
  return list;
}

}  // namespace lockstep::kernels::contract
