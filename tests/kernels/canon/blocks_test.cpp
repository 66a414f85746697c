#include "kernels/canon/blocks.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.h"

using namespace lockstep::kernels;

namespace {

struct Block {
  std::vector<int8_t> high, low;
  float multiplier, sum;
};

Block block_of(const std::vector<float>& x) {
  Block b{std::vector<int8_t>(x.size(), 99), std::vector<int8_t>(x.size(), 99), 0.0f, 0.0f};
  b.multiplier =
      canon::make_block(x.data(), static_cast<int32_t>(x.size()), b.high.data(), b.low.data(), &b.sum);
  return b;
}

// The definition again, in fp64 and libm.
void check(const std::vector<float>& x) {
  double m = 0.0;
  for (float v : x) m = std::max(m, std::fabs(static_cast<double>(v)));
  int e = -100;
  if (m > 0.0) {
    std::frexp(m, &e);
    e = std::max(e, -100);
  }
  const Block b = block_of(x);
  REQUIRE(b.multiplier == std::ldexp(1.0f, e - 14));
  double sum = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double q = std::nearbyint(std::ldexp(static_cast<double>(x[i]), 14 - e));
    REQUIRE(256 * b.high[i] + b.low[i] == static_cast<int>(q));
    REQUIRE(std::abs(static_cast<int>(b.high[i])) <= 64);
    sum += q;
  }
  REQUIRE(b.sum == static_cast<float>(sum) * b.multiplier);
}

}  // namespace

TEST_CASE("blocks are the canon's for numbers of every size") {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    std::vector<float> x(64);
    for (float& v : x) v = std::ldexp(std::min(std::max(normal(random), -1.9f), 1.9f), exponent);
    check(x);
  }
}

TEST_CASE("blocks at their edges") {
  const float most = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
  check({0.0f, -0.0f});
  check({tiny, -tiny, 3 * tiny});
  check({most, -most, 1.0f, tiny});
  check({0x1p-101f, 0x1p-100f, -0x1p-114f, 0x1p-115f, 0x1.8p-114f});
  check({0x1.fffffep0f, 1.0f});                     // rounds up to 2^14
  check({1.0f, 0x1p-14f, 0x1.8p-13f, 0x1.4p-12f});  // ties to even
  check({-1.0f, 0.5f, 0.25f, 0x1.ffp-9f, -0x1.01p-7f});
  CHECK(canon::block_exponent(1.0f) == 1);
  CHECK(canon::block_exponent(0x1.fffffep-1f) == 0);
  CHECK(canon::block_exponent(most) == 128);
}

TEST_CASE("a block with inf or NaN is void") {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const Block b = block_of({1.0f, bad, -3.0f});
    CHECK(std::isnan(b.multiplier));
    CHECK(std::isnan(b.sum));
    for (size_t i = 0; i < 3; ++i) {
      CHECK(b.high[i] == 0);
      CHECK(b.low[i] == 0);
    }
  }
}

TEST_CASE("the joined byte sums of two blocks are their product sum to fp32") {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> q(-16384, 16384);
  for (int repeat = 0; repeat < 200; ++repeat) {
    int64_t truth = 0;
    int32_t hh = 0, mid = 0, ll = 0;
    for (int i = 0; i < 256; ++i) {
      const int a = q(random), b = q(random);
      truth += static_cast<int64_t>(a) * b;
      hh += canon::high_byte(a) * canon::high_byte(b);
      mid += canon::high_byte(a) * canon::low_byte(b) + canon::low_byte(a) * canon::high_byte(b);
      ll += canon::low_byte(a) * canon::low_byte(b);
    }
    const auto joined = static_cast<double>(canon::join_products(hh, mid, ll));
    CHECK(std::fabs(joined - static_cast<double>(truth)) <=
          std::fabs(static_cast<double>(truth)) * 0x1p-23 + 64);
  }
}
