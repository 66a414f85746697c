#include "kernels/canon/fold.h"

#include <random>
#include <vector>

#include "tests/catch.h"

using namespace lockstep::kernels;

namespace {

// The definition as 32 lanes that each add the lane at xor distance.
float by_lanes(const std::vector<float>& x, bool squares) {
  float lane[32] = {};
  for (size_t i = 0; i < x.size(); ++i) {
    float& acc = lane[i % 32];
    acc = squares ? canon::fma(x[i], x[i], acc) : acc + x[i];
  }
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    float next[32];
    for (unsigned t = 0; t < 32; ++t) next[t] = lane[t] + lane[t ^ distance];
    std::copy(next, next + 32, lane);
  }
  for (unsigned t = 1; t < 32; ++t) CHECK(canon::bits_of(lane[t]) == canon::bits_of(lane[0]));
  return lane[0];
}

}  // namespace

TEST_CASE("row sums equal 32 lanes folding by xor") {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const size_t n : {1u, 2u, 31u, 32u, 33u, 64u, 100u, 1024u, 5120u}) {
    std::vector<float> x(n);
    for (float& v : x) v = normal(random);
    CHECK(canon::bits_of(canon::sum(x.data(), static_cast<int32_t>(n))) ==
          canon::bits_of(by_lanes(x, false)));
    CHECK(canon::bits_of(canon::sum_of_squares(x.data(), static_cast<int32_t>(n))) ==
          canon::bits_of(by_lanes(x, true)));
  }
}
