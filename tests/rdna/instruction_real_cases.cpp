#include <bit>
#include <cmath>

#include "tests/rdna/instruction_cases.h"

namespace lockstep::rdna::test {

namespace {

float real(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits(float number) { return std::bit_cast<uint32_t>(number); }

std::function<void(State&)> each(std::function<float(float, float, float)> f) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l) s.put(6, l, bits(f(real(s.v[0][l]), real(s.v[2][l]), real(s.v[4][l]))));
  };
}
// fp64 has more than twice the bits, so one operation in it, rounded again, is the fp32 one.
float sum(float a, float b) { return static_cast<float>(static_cast<double>(a) + static_cast<double>(b)); }
float product(float a, float b) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}
float quotient(double a, double b) { return static_cast<float>(a / b); }
uint32_t whole(float a) {
  if (std::isnan(a) || a <= 0) return 0;
  return a >= 4294967296.0f ? 0xffffffff : static_cast<uint32_t>(std::trunc(static_cast<double>(a)));
}
// The larger one, where +0 is above -0; what is no number loses, but for a signaling NaN in the IEEE mode.
float greater(float a, float b, bool ieee) {
  const auto signaling = [](float x) { return std::isnan(x) && (bits(x) & 0x400000) == 0; };
  if (ieee && (signaling(a) || signaling(b))) return NAN;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  const auto place = [](float x) {
    return bits(x) >> 31 ? -static_cast<int64_t>(bits(x) & 0x7fffffff) - 1 : bits(x);
  };
  return place(a) > place(b) ? a : b;
}
std::function<void(State&)> scalar(std::function<uint32_t(uint32_t, uint32_t, uint32_t)> f) {
  return [=](State& s) { s.put_scalar(6, f(s.s[0], s.s[2], s.s[4])); };
}

const char one[] = "v6, v0", two[] = "v6, v0, v2", three[] = "v6, v0, v2, v4";
constexpr auto near = Compare::near;
constexpr auto exact = Compare::real;

}  // namespace

std::vector<Case> real_cases() {
  return {
      {{"v_add_f32"}, two, each([](float a, float b, float) { return sum(a, b); }), exact},
      {{"v_sub_f32"}, two, each([](float a, float b, float) { return sum(a, -b); }), exact},
      {{"v_subrev_f32"}, two, each([](float a, float b, float) { return sum(b, -a); }), exact},
      {{"v_mul_f32"}, two, each([](float a, float b, float) { return product(a, b); }), exact},
      {{"v_mul_f32"},
       "v6, |v0|, -v2",
       each([](float a, float b, float) { return product(std::fabs(a), -b); }),
       exact},
      {{"v_fma_f32"}, three, each([](float a, float b, float c) { return std::fma(a, b, c); }), exact},
      {{"v_fma_f32"},
       "v6, -v0, |v2|, -|v4|",
       each([](float a, float b, float c) { return std::fma(-a, std::fabs(b), -std::fabs(c)); }),
       exact},
      {{"v_fmac_f32"},
       two,
       [](State& s) {
         for (int l = 0; l < 32; ++l)
           s.put(6, l, bits(std::fma(real(s.v[0][l]), real(s.v[2][l]), real(s.v[6][l]))));
       },
       exact},
      {{"v_fmaak_f32"},
       "v6, v0, v2, 0x40490fdb",
       each([](float a, float b, float) { return std::fma(a, b, real(0x40490fdb)); }),
       exact},
      {{"v_fmamk_f32"},
       "v6, v0, 0x40490fdb, v2",
       each([](float a, float b, float) { return std::fma(a, real(0x40490fdb), b); }),
       exact},
      {{"v_max_f32"}, two, each([](float a, float b, float) { return greater(a, b, true); }), exact},
      {{"v_max_num_f32"}, two, each([](float a, float b, float) { return greater(a, b, false); }), exact},
      {{"v_floor_f32"}, one, each([](float a, float, float) { return std::floor(a); }), exact},
      {{"v_trunc_f32"}, one, each([](float a, float, float) { return std::trunc(a); }), exact},
      {{"v_cvt_f32_i32"}, one, each([](float a, float, float) {
         return static_cast<float>(static_cast<double>(static_cast<int32_t>(bits(a))));
       })},
      {{"v_cvt_f32_u32"}, one, each([](float a, float, float) {
         return static_cast<float>(static_cast<double>(bits(a)));
       })},
      {{"v_cvt_u32_f32"}, one, each([](float a, float, float) { return real(whole(a)); })},
      {{"v_rcp_f32", "v_rcp_iflag_f32"},
       one,
       each([](float a, float, float) { return quotient(1, a); }),
       near},
      {{"v_s_rcp_f32"},
       "s6, s0",
       scalar([](uint32_t a, uint32_t, uint32_t) { return bits(quotient(1, real(a))); }),
       near},
      {{"v_sqrt_f32"},
       one,
       each([](float a, float, float) {
         const bool tiny = a != 0 && std::fabs(a) < 0x1p-126f;
         return tiny ? std::copysign(0.0f, a) : static_cast<float>(std::sqrt(static_cast<double>(a)));
       }),
       near},
      {{"v_ldexp_f32"},
       two,
       each([](float a, float b, float) {
         const auto power = static_cast<int32_t>(bits(b));
         const int steps = power > 600 ? 600 : power < -600 ? -600 : power;
         return static_cast<float>(static_cast<double>(a) * std::exp2(static_cast<double>(steps)));
       }),
       exact},
      {{"s_add_f32"},
       "s6, s0, s2",
       scalar([](uint32_t a, uint32_t b, uint32_t) { return bits(sum(real(a), real(b))); }),
       exact},
      {{"s_sub_f32"},
       "s6, s0, s2",
       scalar([](uint32_t a, uint32_t b, uint32_t) { return bits(sum(real(a), -real(b))); }),
       exact},
      {{"s_mul_f32"},
       "s6, s0, s2",
       scalar([](uint32_t a, uint32_t b, uint32_t) { return bits(product(real(a), real(b))); }),
       exact},
      {{"s_fmac_f32"},
       "s6, s0, s2",
       [](State& s) { s.s[6] = bits(std::fma(real(s.s[0]), real(s.s[2]), real(s.s[6]))); },
       exact},
      {{"s_fmaak_f32"},
       "s6, s0, s2, 0x40490fdb",
       scalar([](uint32_t a, uint32_t b, uint32_t) {
         return bits(std::fma(real(a), real(b), real(0x40490fdb)));
       }),
       exact},
      {{"s_fmamk_f32"},
       "s6, s0, 0x40490fdb, s2",
       scalar([](uint32_t a, uint32_t b, uint32_t) {
         return bits(std::fma(real(a), real(0x40490fdb), real(b)));
       }),
       exact},
      {{"s_trunc_f32"},
       "s6, s0",
       scalar([](uint32_t a, uint32_t, uint32_t) { return bits(std::trunc(real(a))); }),
       exact},
      {{"s_cvt_f32_i32"}, "s6, s0", scalar([](uint32_t a, uint32_t, uint32_t) {
         return bits(static_cast<float>(static_cast<double>(static_cast<int32_t>(a))));
       })},
      {{"s_cvt_f32_u32"}, "s6, s0", scalar([](uint32_t a, uint32_t, uint32_t) {
         return bits(static_cast<float>(static_cast<double>(a)));
       })},
      {{"s_cvt_u32_f32"}, "s6, s0", scalar([](uint32_t a, uint32_t, uint32_t) { return whole(real(a)); })},
  };
}

}  // namespace lockstep::rdna::test
