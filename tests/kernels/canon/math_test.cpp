// The canon's functions against fp64 libm rounded to fp32, over all kinds of bit patterns.
#include "kernels/canon/math.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "kernels/canon/rotary.h"
#include "tests/catch.h"

using namespace lockstep::kernels;

namespace {

// Numbers between two results; NaN equals NaN and nothing else.
int64_t distance(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  const auto line = [](float x) {
    const auto bits = static_cast<int64_t>(canon::bits_of(x) & 0x7fffffffu);
    return std::signbit(x) ? -bits : bits;
  };
  return std::llabs(line(a) - line(b));
}

struct Function {
  const char* name;
  float (*canon)(float);
  double (*truth)(double);
  int64_t bound;  // ulp
  float from;     // below this the bound is not stated
};

double exact_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double exact_silu(double x) { return x / (1.0 + std::exp(-x)); }
double exact_softplus(double x) { return x > 20.0 ? x : std::log1p(std::exp(x)); }

const float lowest = -std::numeric_limits<float>::infinity();
const Function functions[] = {
    {"exp", canon::exp, std::exp, 1, lowest},       {"log", canon::log, std::log, 1, lowest},
    {"log1p", canon::log1p, std::log1p, 1, lowest}, {"sin", canon::sin, std::sin, 1, lowest},
    {"cos", canon::cos, std::cos, 1, lowest},       {"sigmoid", canon::sigmoid, exact_sigmoid, 2, -87.3f},
    {"silu", canon::silu, exact_silu, 3, -87.3f},   {"softplus", canon::softplus, exact_softplus, 2, lowest},
};

// Every step-th bit pattern from `first` on.
void check(const Function& f, uint32_t first, uint32_t step) {
  int64_t worst = 0;
  float worst_at = 0.0f;
  uint64_t off = 0, all = 0;
  for (uint64_t bits = first; bits < (uint64_t{1} << 32); bits += step) {
    const float x = canon::float_of(static_cast<uint32_t>(bits));
    if (x < f.from) continue;
    const int64_t d = distance(f.canon(x), static_cast<float>(f.truth(static_cast<double>(x))));
    ++all;
    off += d != 0;
    if (d > worst) {
      worst = d;
      worst_at = x;
    }
  }
  std::ostringstream text;
  text << f.name << ": " << all << " arguments, " << off << " not rounded correctly, worst " << worst
       << " ulp at " << std::hexfloat << worst_at;
  INFO(text.str());
  CHECK(worst <= f.bound);
}

}  // namespace

TEST_CASE("canon functions keep their stated error over the whole range, in samples") {
  for (const Function& f : functions) check(f, 0, 9973);
}

TEST_CASE("canon functions keep their stated error on every fp32 number", "[.long]") {
  for (const Function& f : functions) check(f, 0, 1);
}

TEST_CASE("canon sin and cos hold for the angles of positions up to 262,144") {
  for (const double theta : {10000.0, 1e7}) {
    for (int pair = 0; pair < 32; ++pair) {
      const float inv = canon::inverse_frequency(theta, pair, 64);
      for (int32_t position = 0; position < 262144; position += 241) {
        const float angle = canon::rotary_angle(position, inv);
        REQUIRE(distance(canon::sin(angle), static_cast<float>(std::sin(static_cast<double>(angle)))) <= 1);
        REQUIRE(distance(canon::cos(angle), static_cast<float>(std::cos(static_cast<double>(angle)))) <= 1);
      }
    }
  }
}

TEST_CASE("canon functions at their edges") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto same = [](float a, float b) { return canon::bits_of(a) == canon::bits_of(b); };
  CHECK(same(canon::exp(-inf), 0.0f));
  CHECK(same(canon::exp(-1e30f), 0.0f));
  CHECK(canon::exp(inf) == inf);
  CHECK(canon::exp(88.8f) == inf);
  CHECK(same(canon::exp(0.0f), 1.0f));
  CHECK(same(canon::exp(-0.0f), 1.0f));
  CHECK(same(canon::exp(-103.9f), 0x1p-149f));
  CHECK(canon::log(0.0f) == -inf);
  CHECK(canon::log(-0.0f) == -inf);
  CHECK(canon::log(inf) == inf);
  CHECK(std::isnan(canon::log(-1.0f)));
  CHECK(same(canon::log(1.0f), 0.0f));
  CHECK(canon::log1p(-1.0f) == -inf);
  CHECK(std::isnan(canon::log1p(-1.5f)));
  CHECK(same(canon::log1p(-0.0f), -0.0f));
  CHECK(same(canon::cos(0.0f), 1.0f));
  CHECK(std::isnan(canon::sin(inf)));
  CHECK(std::isnan(canon::cos(-inf)));
  CHECK(same(canon::sigmoid(-inf), 0.0f));
  CHECK(same(canon::sigmoid(inf), 1.0f));
  CHECK(std::isnan(canon::silu(-inf)));
  CHECK(canon::softplus(21.0f) == 21.0f);
  CHECK(same(canon::softplus(-inf), 0.0f));
  for (const Function& f : functions) CHECK(std::isnan(f.canon(nan)));
}

TEST_CASE("inverse frequencies are the correctly rounded powers") {
  for (const double theta : {10000.0, 1e6, 1e7, 5e5}) {
    for (const int dim : {16, 32, 64, 128}) {
      for (int pair = 0; pair < dim / 2; ++pair) {
        const long double truth = std::pow(static_cast<long double>(theta), -2.0L * pair / dim);
        CHECK(canon::inverse_frequency(theta, pair, dim) == static_cast<float>(truth));
      }
    }
  }
}
