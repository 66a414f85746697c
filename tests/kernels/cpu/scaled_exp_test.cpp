#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "tests/catch.h"

using namespace lockstep::kernels;

TEST_CASE("exp of a row is the canon's, at any length") {
  constexpr unsigned seed = 3;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 20);
  for (size_t length : {0, 1, 15, 16, 17, 31, 1000}) {
    for (float temperature : {1e-30f, 0.3f, 1.0f, 7.0f}) {
      std::vector<float> x(length), out(length + 1, 5.0f);
      for (float& one : x) one = normal(random);
      if (length > 20) x[19] = -std::numeric_limits<float>::infinity();
      scaled_exp(x, 11.0f, temperature, out.data());
      for (size_t i = 0; i < length; ++i) {
        INFO("number " << i << " of " << length << ", temperature " << temperature);
        REQUIRE(std::bit_cast<uint32_t>(out[i]) ==
                std::bit_cast<uint32_t>(canon::exp((x[i] - 11.0f) / temperature)));
      }
      CHECK(out[length] == 5.0f);
    }
  }
}
