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

// Logic on masks. Bits of the result count as written where those of the sources decide them: compilers keep
// masks that are written for some lanes only, and take the others out before they use them.
enum class Logic { both, either, differ };
template <Logic logic, bool not_second>
u32 combine(const Wave& w, const Source& first, const Source& second, u32& written) {
  const auto a = static_cast<u32>(scalar_value(w, first)), other = static_cast<u32>(scalar_value(w, second));
  const u32 b = not_second ? ~other : other, in_a = written_bits(w, first), in_b = written_bits(w, second);
  written = in_a & in_b;
  if (logic == Logic::both) written |= (in_a & ~a) | (in_b & ~b);
  if (logic == Logic::either) written |= (in_a & a) | (in_b & b);
  return logic == Logic::both ? a & b : logic == Logic::either ? a | b : a ^ b;
}
void set_mask(Wave& w, int target, u32 result, u32 written) {
  w.set_scalar(target, result);
  w.undefine_scalar(target, written);
  w.set_scc(result != 0);
  if (written != all_lanes && (result & written) == 0)
    w.full.scalar[scc_place / 64] &= ~(u64{1} << scc_place % 64);
}
template <Logic logic, bool not_second>
void combine_masks(Wave& w, const Instruction& i) {
  u32 written;
  const u32 result = combine<logic, not_second>(w, i.source[0], i.source[1], written);
  set_mask(w, i.scalar_target, result, written);
}
void invert(Wave& w, const Instruction& i) {
  set_mask(w, i.scalar_target, ~static_cast<u32>(scalar_value(w, i.source[0])), written_bits(w, i.source[0]));
}
// Sets EXEC from the source and it, and gives the EXEC there was (wave32: 32 bits).
template <Logic logic, bool not_exec>
void save_exec(Wave& w, const Instruction& i) {
  const u32 before = w.s[exec];
  const Source own{Source::scalar, false, false, 1, exec, 0};
  u32 written;
  const u32 result = combine<logic, not_exec>(w, i.source[0], own, written);
  set_mask(w, exec, result, written);
  w.set_scalar(i.scalar_target, before);
}

// What nobody wrote may be copied; whoever uses the copy is told.
template <int words>
void copy(Wave& w, const Instruction& i) {
  const Source& s = i.source[0];
  const uint64_t value = scalar_value(w, s);
  for (int n = 0; n < words; ++n) {
    const u32 written = s.kind == Source::scalar ? w.scalar_bits[s.reg + n] : all_lanes;
    w.set_scalar(i.scalar_target + n, static_cast<u32>(value >> 32 * n));
    w.undefine_scalar(i.scalar_target + n, written);
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
constexpr Run fused_run =
    SCALAR((Wave&, u32 a, u32 b, u32 c), word(__builtin_fmaf(real(a), real(b), real(c))));

constexpr Entry carry(const char* name, Run run) {
  return {.mnemonic = name, .run = run, .form = Form::scalar, .kind = Kind::scalar, .reads_scc = true};
}
constexpr Entry mask(const char* name, Run run) {
  return {.mnemonic = name, .run = run, .form = Form::scalar, .kind = Kind::scalar, .moves = true};
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
    mask("s_and_b32", combine_masks<Logic::both, false>),
    mask("s_or_b32", combine_masks<Logic::either, false>),
    mask("s_xor_b32", combine_masks<Logic::differ, false>),
    mask("s_andn2_b32", combine_masks<Logic::both, true>),
    mask("s_and_not1_b32", combine_masks<Logic::both, true>),
    mask("s_orn2_b32", combine_masks<Logic::either, true>),
    mask("s_or_not1_b32", combine_masks<Logic::either, true>),
    mask("s_not_b32", invert),
    mask("s_and_saveexec_b32", save_exec<Logic::both, false>),
    mask("s_or_saveexec_b32", save_exec<Logic::either, false>),
    mask("s_andn2_saveexec_b32", save_exec<Logic::both, true>),
    mask("s_and_not1_saveexec_b32", save_exec<Logic::both, true>),
    wide("s_or_b64", SCALAR((Wave & w, u64 a, u64 b), not_zero(w, a | b))),
    wide("s_xor_b64", SCALAR((Wave & w, u64 a, u64 b), not_zero(w, a ^ b))),
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
