// What the accuracy tests of the reference share: kinds of rows, and the error against fp64.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels::accuracy {

enum class Kind { normal, outliers, tiny, mixed };
inline constexpr Kind kinds[] = {Kind::normal, Kind::outliers, Kind::tiny, Kind::mixed};

inline std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::normal: return "normal";
    case Kind::outliers: return "outliers 1000x";
    case Kind::tiny: return "tiny";
    case Kind::mixed: return "mixed";
  }
  return "";
}

// normal: N(0,1). outliers: one in 100 is 1,000 times larger. tiny: N(0,1) * 1e-6. mixed: magnitudes over six
// decades.
inline std::vector<float> numbers(size_t n, Kind kind, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> decade(-4.0f, 2.0f);
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) {
    x[i] = normal(random);
    if (kind == Kind::outliers && random() % 100 == 0) x[i] *= 1000.0f;
    if (kind == Kind::tiny) x[i] *= 1e-6f;
    if (kind == Kind::mixed) x[i] *= std::pow(10.0f, decade(random));
  }
  return x;
}

// |got - truth| / |truth|, both as vectors (root of the sum of squares).
inline double relative_error(const std::vector<float>& got, const std::vector<double>& truth) {
  double difference = 0.0, size = 0.0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double d = static_cast<double>(got[i]) - truth[i];
    difference += d * d;
    size += truth[i] * truth[i];
  }
  return std::sqrt(difference / size);
}

inline std::vector<double> widened(const std::vector<float>& x) { return {x.begin(), x.end()}; }

// Memory for blocks of [rows][length].
struct BlockMemory {
  BlockMemory(int rows, int length, int group)
      : high(static_cast<size_t>(rows) * static_cast<size_t>(length)),
        low(high.size()),
        multiplier(high.size() / static_cast<size_t>(group)),
        sum(multiplier.size()),
        blocks{high.data(), low.data(), multiplier.data(), sum.data(), length, group} {}
  std::vector<int8_t> high, low;
  std::vector<float> multiplier, sum;
  Blocks blocks;
};

}  // namespace lockstep::kernels::accuracy
