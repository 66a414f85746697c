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
constexpr auto not_less_equal = [](float a, float b) { return !(a <= b); };
constexpr auto not_greater_equal = [](float a, float b) { return !(a >= b); };
constexpr auto not_less_greater = [](float a, float b) { return !(a < b || a > b); };
constexpr auto in_class = [](float a, uint32_t classes) { return has_class(a, classes); };

// One comparison into a mask and one into EXEC.
#define BOTH(name, function, ...)                                    \
  {"v_cmp_" name, each_bit<function>, Form::mask, __VA_ARGS__}, {    \
    "v_cmpx_" name, each_bit<function>, Form::exec_mask, __VA_ARGS__ \
  }
#define ORDERS(type, name, ...)                                                                   \
  BOTH("eq_" name, equal<type>, __VA_ARGS__), BOTH("ne_" name, unequal<type>, __VA_ARGS__),       \
      BOTH("lt_" name, less<type>, __VA_ARGS__), BOTH("le_" name, less_equal<type>, __VA_ARGS__), \
      BOTH("gt_" name, greater<type>, __VA_ARGS__), BOTH("ge_" name, greater_equal<type>, __VA_ARGS__)

const Entry entries[] = {
    BOTH("eq_f32", equal<float>, {32, 32, 32}),      BOTH("neq_f32", unequal<float>, {32, 32, 32}),
    BOTH("lt_f32", less<float>, {32, 32, 32}),       BOTH("gt_f32", greater<float>, {32, 32, 32}),
    BOTH("le_f32", less_equal<float>, {32, 32, 32}), BOTH("ge_f32", greater_equal<float>, {32, 32, 32}),
    BOTH("nlt_f32", not_less, {32, 32, 32}),         BOTH("ngt_f32", not_greater, {32, 32, 32}),
    BOTH("nle_f32", not_less_equal, {32, 32, 32}),   BOTH("nge_f32", not_greater_equal, {32, 32, 32}),
    BOTH("nlg_f32", not_less_greater, {32, 32, 32}), BOTH("class_f32", in_class, {32, 32, 32}),
    ORDERS(uint32_t, "u32", {32, 32, 32}),           ORDERS(int32_t, "i32", {32, 32, 32}),
    ORDERS(uint16_t, "u16", {16, 16, 16}),           ORDERS(int16_t, "i16", {16, 16, 16}),
    ORDERS(uint64_t, "u64", {64, 64, 64}),           ORDERS(int64_t, "i64", {64, 64, 64}, true),
};

#undef BOTH
#undef ORDERS

}  // namespace

std::span<const Entry> compare_entries() { return entries; }

}  // namespace lockstep::rdna
