// Scalar instructions. RDNA2 ISA 12.1 to 12.4, RDNA3 ISA 16.1 to 16.4, RDNA4 ISA 16.1 to 16.4 (SOP2, SOPK,
// SOP1, SOPC). fp32 on scalars came with RDNA3.5.
#include <cstdlib>

#include "tests/rdna/floats.h"
#include "tests/rdna/lane_loops.h"

namespace lockstep::rdna {

namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

float real(u32 bits) { return std::bit_cast<float>(bits); }
u32 word(float number) { return std::bit_cast<u32>(number); }
i32 short_of(u32 literal) { return static_cast<int16_t>(literal); }

// SCC tells whether the result is not 0.
template <class T>
T not_zero(Wave& w, T result) {
  w.set_scc(result != 0);
  return result;
}

u32 add(Wave& w, u32 a, u32 b) {
  const u64 sum = u64{a} + b;
  w.set_scc(sum >> 32);
  return static_cast<u32>(sum);
}
u32 add_carry(Wave& w, u32 a, u32 b) {
  const u64 sum = u64{a} + b + w.scc;
  w.set_scc(sum >> 32);
  return static_cast<u32>(sum);
}
u32 subtract(Wave& w, u32 a, u32 b) {
  w.set_scc(b > a);
  return a - b;
}
u32 subtract_borrow(Wave& w, u32 a, u32 b) {
  const bool borrow = u64{b} + w.scc > a;
  const u32 result = a - b - w.scc;
  w.set_scc(borrow);
  return result;
}
// SCC is the signed overflow.
u32 add_signed(Wave& w, i32 a, i32 b) {
  i32 sum;
  w.set_scc(__builtin_add_overflow(a, b, &sum));
  return static_cast<u32>(sum);
}
u32 subtract_signed(Wave& w, i32 a, i32 b) {
  i32 difference;
  w.set_scc(__builtin_sub_overflow(a, b, &difference));
  return static_cast<u32>(difference);
}
u32 absolute(Wave& w, i32 a) { return not_zero(w, a < 0 ? 0 - static_cast<u32>(a) : static_cast<u32>(a)); }
u32 extract_signed(Wave& w, i32 a, u32 field) {
  const u32 first = field & 31, width = field >> 16 & 127;
  if (width == 0) return not_zero(w, 0u);
  const i32 moved = a >> first;
  if (width >= 32) return not_zero(w, static_cast<u32>(moved));
  const u32 up = 32 - width;
  return not_zero(w, static_cast<u32>(static_cast<i32>(static_cast<u32>(moved) << up) >> up));
}

// Sets EXEC from it and the source, and gives the EXEC there was (wave32: 32 bits).
template <class F>
u32 save_exec(Wave& w, F result) {
  const u32 before = w.s[exec];
  w.set_scalar(exec, not_zero(w, result(before)));
  return before;
}

// What nobody wrote may be copied; whoever uses the copy is told.
template <int words>
void copy(Wave& w, const Instruction& i) {
  const Source& s = i.source[0];
  const uint64_t value = scalar_value(w, s);
  for (int n = 0; n < words; ++n) {
    const bool known = s.kind == Source::constant || w.full.has_scalar(s.reg + n);
    w.set_scalar(i.scalar_target + n, static_cast<u32>(value >> 32 * n));
    if (!known) w.undefine_scalar(i.scalar_target + n);
  }
}

#define SCALAR(arguments, result) scalar_run<[] arguments { return result; }>
#define COMPARE(type, comparison) \
  scalar_run<[](Wave& w, type a, type b) { w.set_scc(comparison); }>, Form::scalar_compare
#define COMPARE_REAL(comparison)          \
  scalar_run<[](Wave& w, u32 x, u32 y) {  \
    const float a = real(x), b = real(y); \
    w.set_scc(comparison);                \
  }>,                                     \
      Form::scalar_compare

constexpr Run add_run = SCALAR((Wave & w, u32 a, u32 b), add(w, a, b));
constexpr Run add_carry_run = SCALAR((Wave & w, u32 a, u32 b), add_carry(w, a, b));
constexpr Run subtract_run = SCALAR((Wave & w, u32 a, u32 b), subtract(w, a, b));
constexpr Run subtract_borrow_run = SCALAR((Wave & w, u32 a, u32 b), subtract_borrow(w, a, b));
constexpr Run add_signed_run = SCALAR((Wave & w, i32 a, i32 b), add_signed(w, a, b));
constexpr Run subtract_signed_run = SCALAR((Wave & w, i32 a, i32 b), subtract_signed(w, a, b));
constexpr Run add_short_run = SCALAR((Wave & w, u32 k, i32 d), add_signed(w, d, short_of(k)));
constexpr Run and_not_run = SCALAR((Wave & w, u32 a, u32 b), not_zero(w, a & ~b));
constexpr Run or_not_run = SCALAR((Wave & w, u32 a, u32 b), not_zero(w, a | ~b));
// RDNA3 renamed both; the source is what EXEC keeps less of.
constexpr Run and_not_save_run =
    SCALAR((Wave & w, u32 a), save_exec(w, [a](u32 before) { return a & ~before; }));
constexpr Run and_save_run = SCALAR((Wave & w, u32 a), save_exec(w, [a](u32 before) { return a & before; }));
constexpr Run or_save_run = SCALAR((Wave & w, u32 a), save_exec(w, [a](u32 before) { return a | before; }));
constexpr Run fused_run =
    SCALAR((Wave&, u32 a, u32 b, u32 c), word(__builtin_fmaf(real(a), real(b), real(c))));

constexpr Entry carry(const char* name, Run run) {
  return {.mnemonic = name, .run = run, .form = Form::scalar, .kind = Kind::scalar, .reads_scc = true};
}
constexpr Entry wide(const char* name, Run run) { return {name, run, Form::scalar, {64, 64, 64}}; }

const Entry entries[] = {
    {"s_add_u32", add_run, Form::scalar},
    {"s_add_co_u32", add_run, Form::scalar},
    carry("s_addc_u32", add_carry_run),
    carry("s_add_co_ci_u32", add_carry_run),
    {"s_sub_u32", subtract_run, Form::scalar},
    carry("s_subb_u32", subtract_borrow_run),
    carry("s_sub_co_ci_u32", subtract_borrow_run),
    {"s_add_i32", add_signed_run, Form::scalar},
    {"s_add_co_i32", add_signed_run, Form::scalar},
    {"s_sub_i32", subtract_signed_run, Form::scalar},
    {"s_sub_co_i32", subtract_signed_run, Form::scalar},
    {"s_addk_i32", add_short_run, Form::scalar_update},
    {"s_addk_co_i32", add_short_run, Form::scalar_update},
    {"s_mul_i32", SCALAR((Wave&, u32 a, u32 b), a* b), Form::scalar},
    {"s_mulk_i32", SCALAR((Wave&, u32 k, u32 d), d* static_cast<u32>(short_of(k))), Form::scalar_update},
    {"s_mul_hi_u32", SCALAR((Wave&, u32 a, u32 b), static_cast<u32>(u64{a} * b >> 32)), Form::scalar},
    {"s_mul_hi_i32", SCALAR((Wave&, i32 a, i32 b), static_cast<u32>(static_cast<u64>(i64{a} * b) >> 32)),
     Form::scalar},
    wide("s_mul_u64", SCALAR((Wave&, u64 a, u64 b), a* b)),
    wide("s_add_nc_u64", SCALAR((Wave&, u64 a, u64 b), a + b)),
    wide("s_sub_nc_u64", SCALAR((Wave&, u64 a, u64 b), a - b)),
    {"s_abs_i32", SCALAR((Wave & w, i32 a), absolute(w, a)), Form::scalar},
    {"s_min_i32", scalar_run<[](Wave& w, i32 a, i32 b) {
       w.set_scc(a < b);
       return a < b ? a : b;
     }>,
     Form::scalar},
    {"s_max_i32", scalar_run<[](Wave& w, i32 a, i32 b) {
       w.set_scc(a >= b);
       return a >= b ? a : b;
     }>,
     Form::scalar},
    {"s_and_b32", SCALAR((Wave & w, u32 a, u32 b), not_zero(w, a& b)), Form::scalar},
    {"s_or_b32", SCALAR((Wave & w, u32 a, u32 b), not_zero(w, a | b)), Form::scalar},
    {"s_xor_b32", SCALAR((Wave & w, u32 a, u32 b), not_zero(w, a ^ b)), Form::scalar},
    wide("s_or_b64", SCALAR((Wave & w, u64 a, u64 b), not_zero(w, a | b))),
    wide("s_xor_b64", SCALAR((Wave & w, u64 a, u64 b), not_zero(w, a ^ b))),
    {"s_andn2_b32", and_not_run, Form::scalar},
    {"s_and_not1_b32", and_not_run, Form::scalar},
    {"s_orn2_b32", or_not_run, Form::scalar},
    {"s_or_not1_b32", or_not_run, Form::scalar},
    {"s_not_b32", SCALAR((Wave & w, u32 a), not_zero(w, ~a)), Form::scalar},
    {"s_and_saveexec_b32", and_save_run, Form::scalar},
    {"s_or_saveexec_b32", or_save_run, Form::scalar},
    {"s_andn2_saveexec_b32", and_not_save_run, Form::scalar},
    {"s_and_not1_saveexec_b32", and_not_save_run, Form::scalar},
    {"s_lshl_b32", SCALAR((Wave & w, u32 a, u32 by), not_zero(w, a << (by & 31))), Form::scalar},
    {"s_lshr_b32", SCALAR((Wave & w, u32 a, u32 by), not_zero(w, a >> (by & 31))), Form::scalar},
    {"s_ashr_i32", SCALAR((Wave & w, i32 a, u32 by), not_zero(w, a >> (by & 31))), Form::scalar},
    {"s_lshl_b64",
     SCALAR((Wave & w, u64 a, u32 by), not_zero(w, a << (by & 63))),
     Form::scalar,
     {64, 32, 32}},
    {"s_lshr_b64",
     SCALAR((Wave & w, u64 a, u32 by), not_zero(w, a >> (by & 63))),
     Form::scalar,
     {64, 32, 32}},
    {"s_bfe_i32", SCALAR((Wave & w, i32 a, u32 field), extract_signed(w, a, field)), Form::scalar},
    {"s_bcnt1_i32_b32", SCALAR((Wave & w, u32 a), not_zero(w, static_cast<u32>(std::popcount(a)))),
     Form::scalar},
    {"s_sext_i32_i8", SCALAR((Wave&, u32 a), i32{static_cast<int8_t>(a)}), Form::scalar},
    {"s_sext_i32_i16", SCALAR((Wave&, u32 a), i32{static_cast<int16_t>(a)}), Form::scalar},
    {"s_bitset0_b32", SCALAR((Wave&, u32 n, u32 d), d & ~(1u << (n & 31))), Form::scalar_update},
    {"s_bitset1_b32", SCALAR((Wave&, u32 n, u32 d), d | 1u << (n & 31)), Form::scalar_update},
    {.mnemonic = "s_mov_b32", .run = copy<1>, .form = Form::scalar, .moves = true},
    {.mnemonic = "s_mov_b64", .run = copy<2>, .form = Form::scalar, .bits = {64, 64, 64}, .moves = true},
    {"s_movk_i32", SCALAR((Wave&, u32 k), short_of(k)), Form::scalar},
    carry("s_cselect_b32", SCALAR((Wave & w, u32 a, u32 b), w.scc ? a : b)),
    {"s_add_f32", SCALAR((Wave&, u32 a, u32 b), word(real(a) + real(b))), Form::scalar},
    {"s_sub_f32", SCALAR((Wave&, u32 a, u32 b), word(real(a) - real(b))), Form::scalar},
    {"s_mul_f32", SCALAR((Wave&, u32 a, u32 b), word(real(a) * real(b))), Form::scalar},
    {"s_fmac_f32", fused_run, Form::scalar_update},
    {"s_fmaak_f32", fused_run, Form::scalar},
    {"s_fmamk_f32", fused_run, Form::scalar},
    {"s_trunc_f32", SCALAR((Wave&, u32 a), word(__builtin_truncf(real(a)))), Form::scalar},
    {"s_cvt_f32_i32", SCALAR((Wave&, i32 a), word(static_cast<float>(a))), Form::scalar},
    {"s_cvt_f32_u32", SCALAR((Wave&, u32 a), word(static_cast<float>(a))), Form::scalar},
    {"s_cvt_u32_f32", SCALAR((Wave&, u32 a), to_unsigned(real(a))), Form::scalar},
    {"s_cmp_eq_u32", COMPARE(u32, a == b)},
    {"s_cmp_lg_u32", COMPARE(u32, a != b)},
    {"s_cmp_lt_u32", COMPARE(u32, a < b)},
    {"s_cmp_le_u32", COMPARE(u32, a <= b)},
    {"s_cmp_gt_u32", COMPARE(u32, a > b)},
    {"s_cmp_ge_u32", COMPARE(u32, a >= b)},
    {"s_cmp_eq_i32", COMPARE(i32, a == b)},
    {"s_cmp_lg_i32", COMPARE(i32, a != b)},
    {"s_cmp_lt_i32", COMPARE(i32, a < b)},
    {"s_cmp_le_i32", COMPARE(i32, a <= b)},
    {"s_cmp_gt_i32", COMPARE(i32, a > b)},
    {"s_cmp_ge_i32", COMPARE(i32, a >= b)},
    {"s_cmp_eq_u64", COMPARE(u64, a == b), {64, 64, 64}},
    {"s_cmp_lg_u64", COMPARE(u64, a != b), {64, 64, 64}},
    {"s_cmpk_eq_i32", COMPARE(u32, static_cast<i32>(a) == short_of(b))},
    {"s_cmpk_lg_i32", COMPARE(u32, static_cast<i32>(a) != short_of(b))},
    {"s_cmpk_lt_i32", COMPARE(u32, static_cast<i32>(a) < short_of(b))},
    {"s_cmpk_le_i32", COMPARE(u32, static_cast<i32>(a) <= short_of(b))},
    {"s_cmpk_gt_i32", COMPARE(u32, static_cast<i32>(a) > short_of(b))},
    {"s_cmpk_ge_i32", COMPARE(u32, static_cast<i32>(a) >= short_of(b))},
    {"s_cmpk_eq_u32", COMPARE(u32, a == (b & 0xffff))},
    {"s_cmpk_lg_u32", COMPARE(u32, a != (b & 0xffff))},
    {"s_cmpk_lt_u32", COMPARE(u32, a < (b & 0xffff))},
    {"s_cmpk_le_u32", COMPARE(u32, a <= (b & 0xffff))},
    {"s_cmpk_gt_u32", COMPARE(u32, a > (b & 0xffff))},
    {"s_cmpk_ge_u32", COMPARE(u32, a >= (b & 0xffff))},
    {"s_bitcmp1_b32", COMPARE(u32, (a >> (b & 31) & 1) == 1)},
    {"s_bitcmp0_b32", COMPARE(u32, (a >> (b & 31) & 1) == 0)},
    {"s_cmp_eq_f32", COMPARE_REAL(a == b)},
    {"s_cmp_neq_f32", COMPARE_REAL(a != b)},
    {"s_cmp_lt_f32", COMPARE_REAL(a < b)},
    {"s_cmp_gt_f32", COMPARE_REAL(a > b)},
    {"s_cmp_nlt_f32", COMPARE_REAL(!(a < b))},
    {"s_cmp_ngt_f32", COMPARE_REAL(!(a > b))},
    {"s_cmp_nle_f32", COMPARE_REAL(!(a <= b))},
};

#undef SCALAR
#undef COMPARE
#undef COMPARE_REAL

}  // namespace

std::span<const Entry> scalar_entries() { return entries; }

}  // namespace lockstep::rdna
