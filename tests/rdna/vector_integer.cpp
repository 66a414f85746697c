// Vector instructions on integers. RDNA2 ISA 12.7 to 12.12, RDNA3 ISA 16.7 to 16.12, RDNA4 ISA 16.7 to 16.12.
#include "tests/rdna/lane_loops.h"

namespace lockstep::rdna {

namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

constexpr i32 extended24(u32 a) { return static_cast<i32>(a << 8) >> 8; }

constexpr auto add = [](u32 a, u32 b) { return a + b; };
constexpr auto subtract = [](u32 a, u32 b) { return a - b; };
constexpr auto subtract_reversed = [](u32 a, u32 b) { return b - a; };
constexpr auto add3 = [](u32 a, u32 b, u32 c) { return a + b + c; };
constexpr auto add_shift = [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); };
constexpr auto shift_add = [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; };
constexpr auto shift_or = [](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; };
constexpr auto and_of = [](u32 a, u32 b) { return a & b; };
constexpr auto or_of = [](u32 a, u32 b) { return a | b; };
constexpr auto xor_of = [](u32 a, u32 b) { return a ^ b; };
constexpr auto not_of = [](u32 a) { return ~a; };
constexpr auto and_or = [](u32 a, u32 b, u32 c) { return (a & b) | c; };
constexpr auto or3 = [](u32 a, u32 b, u32 c) { return a | b | c; };
constexpr auto shift_left = [](u32 by, u32 a) { return a << (by & 31); };
constexpr auto shift_right = [](u32 by, u32 a) { return a >> (by & 31); };
constexpr auto shift_signed = [](u32 by, i32 a) { return a >> (by & 31); };
constexpr auto shift_left64 = [](u32 by, u64 a) { return a << (by & 63); };
constexpr auto shift_right64 = [](u32 by, u64 a) { return a >> (by & 63); };
constexpr auto shift_signed64 = [](u32 by, i64 a) { return a >> (by & 63); };
constexpr auto align_bits = [](u32 high, u32 low, u32 by) {
  return static_cast<u32>((u64{high} << 32 | low) >> (by & 31));
};
constexpr auto extract = [](u32 a, u32 first, u32 width) {
  return a >> (first & 31) & ((1u << (width & 31)) - 1);
};
constexpr auto extract_signed = [](i32 a, u32 first, u32 width) -> i32 {
  const u32 n = width & 31;
  if (n == 0) return 0;
  const auto field = static_cast<u32>(a >> (first & 31)) & ((1u << n) - 1);
  return static_cast<i32>(field ^ 1u << (n - 1)) - static_cast<i32>(1u << (n - 1));
};
constexpr auto reversed = [](u32 a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(a);
};
// The place, from the top, of the first bit that differs from the sign; -1 where none does.
constexpr auto leading_signs = [](i32 a) -> i32 {
  const u32 b = static_cast<u32>(a ^ (a >> 31));
  return b == 0 ? -1 : __builtin_clz(b);
};
constexpr auto minimum_unsigned = [](u32 a, u32 b) { return a < b ? a : b; };
constexpr auto maximum_unsigned = [](u32 a, u32 b) { return a > b ? a : b; };
constexpr auto minimum_signed = [](i32 a, i32 b) { return a < b ? a : b; };
constexpr auto maximum_signed = [](i32 a, i32 b) { return a > b ? a : b; };
constexpr auto middle = [](i32 a, i32 b, i32 c) {
  const i32 low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
};
constexpr auto multiply = [](u32 a, u32 b) { return a * b; };
constexpr auto multiply_high = [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); };
constexpr auto multiply24 = [](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); };
constexpr auto multiply24_high = [](u32 a, u32 b) {
  return static_cast<u32>(u64{a & 0xffffff} * (b & 0xffffff) >> 32);
};
constexpr auto multiply24_signed = [](u32 a, u32 b) {
  return static_cast<u32>(extended24(a)) * static_cast<u32>(extended24(b));
};
constexpr auto multiply24_signed_high = [](u32 a, u32 b) {
  return static_cast<u32>(static_cast<u64>(i64{extended24(a)} * extended24(b)) >> 32);
};
constexpr auto multiply24_add = [](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; };
constexpr auto wide_multiply_add = [](u32 a, u32 b, u64 c) { return u64{a} * b + c; };
constexpr auto wide_multiply_add_signed = [](i32 a, i32 b, u64 c) {
  return static_cast<u64>(i64{a} * b) + c;
};
constexpr auto add16 = [](u16 a, u16 b) { return static_cast<u16>(a + b); };
constexpr auto subtract16 = [](u16 a, u16 b) { return static_cast<u16>(a - b); };
constexpr auto shift_right16 = [](u16 by, u16 a) { return static_cast<u16>(a >> (by & 15)); };
constexpr auto shift_signed16 = [](u16 by, int16_t a) { return static_cast<u16>(a >> (by & 15)); };

// Sums with a carry out, and in: f gives 33 bits. RDNA2 ISA 12.7 V_ADD_CO_CI_U32.
template <auto f, bool carry_in>
void with_carry(Wave& w, const Instruction& i) {
  if (w.active() == 0 && i.scalar_target == null) return;
  u32 room[2][row_words], out[lanes], mask = 0;
  const u32 *a = fetch(w, i.source[0], room[0]), *b = fetch(w, i.source[1], room[1]);
  const u32 in = carry_in ? static_cast<u32>(scalar_value(w, i.source[2])) : 0;
  for (int l = 0; l < lanes; ++l) {
    const u64 sum = f(a[l], b[l], in >> l & 1);
    out[l] = static_cast<u32>(sum);
    mask |= static_cast<u32>(sum >> 32 & 1) << l;
  }
  uint32_t good = written_lanes(w, i.source[0]) & written_lanes(w, i.source[1]);
  if (carry_in) good &= written_bits(w, i.source[2]);
  store_row(w, i.target, out, w.active());
  w.undefine(i.target, w.active() & ~good);
  store_mask(w, i, mask, good);
}
constexpr auto add_carry = [](u32 a, u32 b, u32 c) { return u64{a} + b + c; };
constexpr auto subtract_borrow = [](u32 a, u32 b, u32 c) { return u64{a} - b - c; };

const Entry entries[] = {
    {"v_add_nc_u32", each_lane<add>},
    {"v_sub_nc_u32", each_lane<subtract>},
    {"v_subrev_nc_u32", each_lane<subtract_reversed>},
    {"v_add3_u32", each_lane<add3>},
    {"v_add_lshl_u32", each_lane<add_shift>},
    {"v_lshl_add_u32", each_lane<shift_add>},
    {"v_lshl_or_b32", each_lane<shift_or>},
    {"v_and_b32", each_lane<and_of>},
    {"v_or_b32", each_lane<or_of>},
    {"v_xor_b32", each_lane<xor_of>},
    {"v_not_b32", each_lane<not_of>},
    {"v_and_or_b32", each_lane<and_or>},
    {"v_or3_b32", each_lane<or3>},
    {"v_lshlrev_b32", each_lane<shift_left>},
    {"v_lshrrev_b32", each_lane<shift_right>},
    {"v_ashrrev_i32", each_lane<shift_signed>},
    {"v_lshlrev_b64", each_lane<shift_left64, true>, Form::vector, {32, 64, 32}},
    {"v_lshrrev_b64", each_lane<shift_right64>, Form::vector, {32, 64, 32}},
    {"v_ashrrev_i64", each_lane<shift_signed64>, Form::vector, {32, 64, 32}, true},
    {"v_alignbit_b32", each_lane<align_bits>},
    {"v_bfe_u32", each_lane<extract>},
    {"v_bfe_i32", each_lane<extract_signed>},
    {"v_bfrev_b32", each_lane<reversed>},
    {"v_ffbh_i32", each_lane<leading_signs>},
    {"v_cls_i32", each_lane<leading_signs>},
    {"v_min_u32", each_lane<minimum_unsigned>},
    {"v_min_i32", each_lane<minimum_signed>},
    {"v_max_u32", each_lane<maximum_unsigned>},
    {"v_max_i32", each_lane<maximum_signed>},
    {"v_med3_i32", each_lane<middle>},
    {"v_mul_lo_u32", each_lane<multiply>},
    {"v_mul_hi_u32", each_lane<multiply_high>},
    {"v_mul_u32_u24", each_lane<multiply24>},
    {"v_mul_hi_u32_u24", each_lane<multiply24_high>},
    {"v_mul_i32_i24", each_lane<multiply24_signed>},
    {"v_mul_hi_i32_i24", each_lane<multiply24_signed_high>},
    {"v_mad_u32_u24", each_lane<multiply24_add>},
    {"v_mad_u64_u32", each_lane<wide_multiply_add, true>, Form::vector_mask, {32, 32, 64}},
    {"v_mad_co_u64_u32", each_lane<wide_multiply_add, true>, Form::vector_mask, {32, 32, 64}},
    {"v_mad_i64_i32", each_lane<wide_multiply_add_signed, true>, Form::vector_mask, {32, 32, 64}, true},
    {"v_mad_co_i64_i32", each_lane<wide_multiply_add_signed, true>, Form::vector_mask, {32, 32, 64}, true},
    {"v_add_nc_u16", each_lane<add16>, Form::vector, {16, 16, 16}},
    {"v_sub_nc_u16", each_lane<subtract16>, Form::vector, {16, 16, 16}},
    {"v_lshrrev_b16", each_lane<shift_right16>, Form::vector, {16, 16, 16}},
    {"v_ashrrev_i16", each_lane<shift_signed16>, Form::vector, {16, 16, 16}},
    {"v_add_co_u32", with_carry<add_carry, false>, Form::vector_mask},
    {"v_sub_co_u32", with_carry<subtract_borrow, false>, Form::vector_mask},
    {"v_add_co_ci_u32", with_carry<add_carry, true>, Form::vector_mask},
    {"v_sub_co_ci_u32", with_carry<subtract_borrow, true>, Form::vector_mask},
};

}  // namespace

std::span<const Entry> integer_entries() { return entries; }

}  // namespace lockstep::rdna
