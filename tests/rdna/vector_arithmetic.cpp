// Vector instructions on fp32 numbers. RDNA2 ISA 12.7 to 12.12, RDNA3 ISA 16.7 to 16.12, RDNA4 ISA 16.7
// to 16.12 (VOP1, VOP2, VOP3; DUAL of VOPD has the same functions). Rounding is to the nearest even; denormal
// numbers are kept, as the kernels' mode registers say; fma has one rounding.
#include <cmath>

#include "tests/rdna/floats.h"
#include "tests/rdna/lane_loops.h"

namespace lockstep::rdna {

namespace {

constexpr auto add = [](float a, float b) { return a + b; };
constexpr auto subtract = [](float a, float b) { return a - b; };
constexpr auto subtract_reversed = [](float a, float b) { return b - a; };
constexpr auto multiply = [](float a, float b) { return a * b; };
constexpr auto fused = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };
constexpr auto floor_of = [](float a) { return __builtin_floorf(a); };
constexpr auto truncated = [](float a) { return __builtin_truncf(a); };
constexpr auto from_signed = [](int32_t a) { return static_cast<float>(a); };
constexpr auto from_unsigned = [](uint32_t a) { return static_cast<float>(a); };

void reciprocal(Wave& w, const Instruction& i) {
  each_lane<[](float a) { return approximate_reciprocal(a); }>(w, i);
}
void square_root(Wave& w, const Instruction& i) {
  each_lane<[](float a) { return approximate_root(a); }>(w, i);
}

// V_RCP_F32 of a scalar (RDNA4 ISA, VOP3 V_S_RCP_F32).
void scalar_reciprocal(Wave& w, const Instruction& i) {
  const auto a = std::bit_cast<float>(static_cast<uint32_t>(scalar_value(w, i.source[0])));
  w.set_scalar(i.scalar_target, std::bit_cast<uint32_t>(approximate_reciprocal(a)));
}

// V_DIV_SCALE_F32: its second target tells V_DIV_FMAS_F32 where the quotient must be scaled back.
void divide_scale(Wave& w, const Instruction& i) {
  uint32_t room[3][row_words], out[lanes], mask = 0;
  const uint32_t* s[3];
  for (int n = 0; n < 3; ++n) s[n] = fetch(w, i.source[n], room[n]);
  for (int l = 0; l < lanes; ++l) {
    bool scaled = false;
    out[l] = std::bit_cast<uint32_t>(div_scale(lane_value<float>(s[0], l), lane_value<float>(s[1], l),
                                               lane_value<float>(s[2], l), scaled));
    mask |= static_cast<uint32_t>(scaled) << l;
  }
  const uint32_t good = written_lanes(w, i);
  store_row(w, i.target, out, w.active());
  w.undefine(i.target, w.active() & ~good);
  store_mask(w, i, mask, good);
}

void divide_fused(Wave& w, const Instruction& i) {
  uint32_t room[3][row_words], out[lanes];
  const uint32_t* s[3];
  for (int n = 0; n < 3; ++n) s[n] = fetch(w, i.source[n], room[n]);
  for (int l = 0; l < lanes; ++l) {
    out[l] = std::bit_cast<uint32_t>(div_fmas(lane_value<float>(s[0], l), lane_value<float>(s[1], l),
                                              lane_value<float>(s[2], l), w.s[vcc] >> l & 1));
  }
  const uint32_t good = written_lanes(w, i);
  store_row(w, i.target, out, w.active());
  w.undefine(i.target, w.active() & ~good);
}

constexpr auto fixup = [](float quotient, float divisor, float dividend) {
  return div_fixup(quotient, divisor, dividend);
};
constexpr auto scaled_by_power = [](float a, int32_t power) {
  return std::ldexp(a, std::max(-400, std::min(400, power)));
};

constexpr auto greater_ieee = [](float a, float b) { return max_ieee(a, b); };
constexpr auto greater_number = [](float a, float b) { return max_num(a, b); };

const Entry entries[] = {
    {"v_add_f32", each_lane<add>},
    {"v_sub_f32", each_lane<subtract>},
    {"v_subrev_f32", each_lane<subtract_reversed>},
    {"v_mul_f32", each_lane<multiply>},
    {"v_fma_f32", each_lane<fused>},
    {"v_fmac_f32", each_lane<fused>, Form::accumulate},
    {"v_fmaak_f32", each_lane<fused>},
    {"v_fmamk_f32", each_lane<fused>},
    {"v_max_f32", each_lane<greater_ieee>},
    {"v_max_num_f32", each_lane<greater_number>},
    {"v_floor_f32", each_lane<floor_of>},
    {"v_trunc_f32", each_lane<truncated>},
    {"v_cvt_f32_i32", each_lane<from_signed>},
    {"v_cvt_f32_u32", each_lane<from_unsigned>},
    {"v_cvt_u32_f32", each_lane<to_unsigned>},
    {"v_rcp_f32", reciprocal},
    {"v_rcp_iflag_f32", reciprocal},
    {"v_s_rcp_f32", scalar_reciprocal, Form::scalar},
    {"v_sqrt_f32", square_root},
    {"v_ldexp_f32", each_lane<scaled_by_power>},
    {"v_div_scale_f32", divide_scale, Form::vector_mask},
    {.mnemonic = "v_div_fmas_f32", .run = divide_fused, .reads_vcc = true},
    {"v_div_fixup_f32", each_lane<fixup>},
};

}  // namespace

std::span<const Entry> arithmetic_entries() { return entries; }

}  // namespace lockstep::rdna
