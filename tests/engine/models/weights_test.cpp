#include "engine/models/weights.h"

#include <cmath>

#include "tests/catch.h"

using lockstep::engine::rotary_frequencies;

TEST_CASE("rotary frequencies are the nearest fp32 of theta^(-2i/dim)") {
  for (double theta : {1e4, 1e5, 5e6, 1e7})
    for (int dim : {2, 16, 32, 64, 128, 256}) {
      const std::vector<float> frequency = rotary_frequencies(theta, dim);
      REQUIRE(frequency.size() == size_t(dim / 2));
      for (int i = 0; i < dim / 2; ++i) {
        const double exact = std::pow(theta, -2.0 * i / dim);
        CHECK(std::abs(frequency[i] - exact) <= exact * 6.0e-8);
      }
    }
}
