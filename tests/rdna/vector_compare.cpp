// Vector comparisons into a mask, and into EXEC (V_CMPX). RDNA2 ISA 12.11, RDNA3 ISA 16.11, RDNA4 ISA 16.11.
#include "tests/rdna/floats.h"
#include "tests/rdna/lane_loops.h"

namespace lockstep::rdna {

namespace {

template <class T>
constexpr auto equal = [](T a, T b) { return a == b; };
template <class T>
constexpr auto unequal = [](T a, T b) { return a != b; };
template <class T>
constexpr auto less = [](T a, T b) { return a < b; };
template <class T>
constexpr auto less_equal = [](T a, T b) { return a <= b; };
template <class T>
constexpr auto greater = [](T a, T b) { return a > b; };
template <class T>
constexpr auto greater_equal = [](T a, T b) { return a >= b; };
constexpr auto not_less = [](float a, float b) { return !(a < b); };
constexpr auto not_greater = [](float a, float b) { return !(a > b); };
constexpr auto not_greater_equal = [](float a, float b) { return !(a >= b); };
constexpr auto not_less_greater = [](float a, float b) { return !(a < b || a > b); };
constexpr auto in_class = [](float a, uint32_t classes) { return has_class(a, classes); };

constexpr auto to_mask = Form::mask;
constexpr auto to_exec = Form::exec_mask;

const Entry entries[] = {
    {"v_cmp_eq_f32", each_bit<equal<float>>, to_mask},
    {"v_cmp_neq_f32", each_bit<unequal<float>>, to_mask},
    {"v_cmp_lt_f32", each_bit<less<float>>, to_mask},
    {"v_cmp_gt_f32", each_bit<greater<float>>, to_mask},
    {"v_cmp_ge_f32", each_bit<greater_equal<float>>, to_mask},
    {"v_cmp_nlt_f32", each_bit<not_less>, to_mask},
    {"v_cmp_ngt_f32", each_bit<not_greater>, to_mask},
    {"v_cmp_nge_f32", each_bit<not_greater_equal>, to_mask},
    {"v_cmp_nlg_f32", each_bit<not_less_greater>, to_mask},
    {"v_cmp_class_f32", each_bit<in_class>, to_mask},
    {"v_cmp_eq_u32", each_bit<equal<uint32_t>>, to_mask},
    {"v_cmp_ne_u32", each_bit<unequal<uint32_t>>, to_mask},
    {"v_cmp_lt_u32", each_bit<less<uint32_t>>, to_mask},
    {"v_cmp_le_u32", each_bit<less_equal<uint32_t>>, to_mask},
    {"v_cmp_gt_u32", each_bit<greater<uint32_t>>, to_mask},
    {"v_cmp_lt_i32", each_bit<less<int32_t>>, to_mask},
    {"v_cmp_le_i32", each_bit<less_equal<int32_t>>, to_mask},
    {"v_cmp_gt_i32", each_bit<greater<int32_t>>, to_mask},
    {"v_cmp_eq_u16", each_bit<equal<uint16_t>>, to_mask, {16, 16, 16}},
    {"v_cmp_ne_u16", each_bit<unequal<uint16_t>>, to_mask, {16, 16, 16}},
    {"v_cmp_lt_i16", each_bit<less<int16_t>>, to_mask, {16, 16, 16}},
    {"v_cmp_gt_i16", each_bit<greater<int16_t>>, to_mask, {16, 16, 16}},
    {"v_cmp_lt_u64", each_bit<less<uint64_t>>, to_mask, {64, 64, 64}},
    {"v_cmp_ne_u64", each_bit<unequal<uint64_t>>, to_mask, {64, 64, 64}},
    {"v_cmp_ge_i64", each_bit<greater_equal<int64_t>>, to_mask, {64, 64, 64}, true},
    {"v_cmpx_eq_u32", each_bit<equal<uint32_t>>, to_exec},
    {"v_cmpx_ne_u32", each_bit<unequal<uint32_t>>, to_exec},
    {"v_cmpx_lt_u32", each_bit<less<uint32_t>>, to_exec},
    {"v_cmpx_gt_u32", each_bit<greater<uint32_t>>, to_exec},
    {"v_cmpx_lt_i32", each_bit<less<int32_t>>, to_exec},
    {"v_cmpx_le_i32", each_bit<less_equal<int32_t>>, to_exec},
    {"v_cmpx_gt_i32", each_bit<greater<int32_t>>, to_exec},
    {"v_cmpx_ge_i32", each_bit<greater_equal<int32_t>>, to_exec},
    {"v_cmpx_eq_u64", each_bit<equal<uint64_t>>, to_exec, {64, 64, 64}},
    {"v_cmpx_gt_u64", each_bit<greater<uint64_t>>, to_exec, {64, 64, 64}},
    {"v_cmpx_ge_u64", each_bit<greater_equal<uint64_t>>, to_exec, {64, 64, 64}},
    {"v_cmpx_neq_f32", each_bit<unequal<float>>, to_exec},
};

}  // namespace

std::span<const Entry> compare_entries() { return entries; }

}  // namespace lockstep::rdna
