#include "engine/models/coarse.h"

#include <cmath>
#include <random>

#include "tests/catch.h"

using namespace lockstep;
using namespace lockstep::engine;
using kernels::ScaleType;

TEST_CASE("4-bit codes are the nearest to the 8-bit ones, with any scales") {
  constexpr int outputs = 3, inputs = 128, group = 64, groups = outputs * inputs / group;
  std::mt19937 random(5);
  std::vector<uint8_t> codes(outputs * inputs);
  for (uint8_t& code : codes) code = static_cast<uint8_t>(random());
  codes[0] = 0;
  codes[1] = 255;
  // 0.015625 and -1.5 as each type has them.
  const std::vector<float> wide_scales(groups, 0.015625f), wide_biases(groups, -1.5f);
  const std::vector<uint16_t> bf16_scales(groups, 0x3c80), bf16_biases(groups, 0xbfc0),
      fp16_scales(groups, 0x2400), fp16_biases(groups, 0xbe00);
  kernels::MatrixSource fine;
  fine.outputs = outputs;
  fine.inputs = inputs;
  fine.bits = 8;
  fine.group = group;
  fine.weights = codes.data();
  for (const auto& [type, scales, biases] : {std::tuple<ScaleType, const void*, const void*>{
                                                 ScaleType::fp32, wide_scales.data(), wide_biases.data()},
                                             {ScaleType::bf16, bf16_scales.data(), bf16_biases.data()},
                                             {ScaleType::fp16, fp16_scales.data(), fp16_biases.data()}}) {
    fine.scale_type = type;
    fine.scales = scales;
    fine.biases = biases;
    const CoarseMatrix some = coarse(fine);
    REQUIRE(some.source.bits == 4);
    REQUIRE(some.source.outputs == outputs);
    for (int i = 0; i < outputs * inputs; ++i) {
      const int code = some.codes[i / 2] >> 4 * (i % 2) & 15;
      const float weight = some.scales[i / group] * static_cast<float>(code) + some.biases[i / group];
      const float wanted = 0.015625f * codes[i] - 1.5f;
      REQUIRE(std::abs(weight - wanted) <= 8 * 0.015625f);
    }
    CHECK((some.codes[0] & 15) == 0);
    CHECK(some.codes[0] >> 4 == 15);
  }
}

TEST_CASE("small fp16 scales stay what they are") {
  const std::vector<uint8_t> codes(64, 17);
  const uint16_t scale = 0x0001, bias = 0x83ff;  // the smallest of all, and a subnormal number
  kernels::MatrixSource fine;
  fine.outputs = 1;
  fine.inputs = fine.group = 64;
  fine.bits = 8;
  fine.scale_type = ScaleType::fp16;
  fine.weights = codes.data();
  fine.scales = &scale;
  fine.biases = &bias;
  const CoarseMatrix some = coarse(fine);
  CHECK(some.scales[0] == 17 * 0x1p-24f);
  CHECK(some.biases[0] == -1023 * 0x1p-24f);
}
