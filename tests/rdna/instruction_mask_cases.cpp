#include <bit>
#include <cmath>

#include "tests/rdna/instruction_cases.h"

namespace lockstep::rdna::test {

namespace {

// A comparison of two numbers that may have no order: f gets -1, 0, 1, or 2 for NaN.
using F = std::function<bool(int)>;
template <class T>
int order(T a, T b) {
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}
template <class T>
T read(const State& s, int r, int l) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(s.wide(r, l));
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<uint16_t>(s.v[r][l] & 0xffff));
  } else {
    return std::bit_cast<T>(s.v[r][l]);
  }
}
template <class T>
std::function<void(State&)> compare(int target, F f) {
  return [=](State& s) {
    uint32_t mask = 0;
    for (int l = 0; l < 32; ++l) {
      if (s.active(l) && f(order(read<T>(s, 0, l), read<T>(s, 2, l)))) mask |= 1u << l;
    }
    s.s[target] = mask;
  };
}

int number_class(float a) {
  const uint32_t b = std::bit_cast<uint32_t>(a);
  const bool negative = b >> 31;
  switch (std::fpclassify(a)) {
    case FP_NAN: return b & 0x400000 ? 1 : 0;
    case FP_INFINITE: return negative ? 2 : 9;
    case FP_NORMAL: return negative ? 3 : 8;
    case FP_SUBNORMAL: return negative ? 4 : 7;
    default: return negative ? 5 : 6;
  }
}

struct Named {
  const char* name;
  F f;
};
const Named whole[] = {{"eq", [](int o) { return o == 0; }}, {"ne", [](int o) { return o != 0; }},
                       {"lt", [](int o) { return o < 0; }},  {"le", [](int o) { return o <= 0; }},
                       {"gt", [](int o) { return o > 0; }},  {"ge", [](int o) { return o >= 0; }}};
const Named real[] = {{"eq", [](int o) { return o == 0; }},
                      {"neq", [](int o) { return o != 0; }},
                      {"lt", [](int o) { return o == -1; }},
                      {"gt", [](int o) { return o == 1; }},
                      {"le", [](int o) { return o == 0 || o == -1; }},
                      {"ge", [](int o) { return o == 0 || o == 1; }},
                      {"nlt", [](int o) { return o != -1; }},
                      {"ngt", [](int o) { return o != 1; }},
                      {"nge", [](int o) { return o == -1 || o == 2; }},
                      {"nle", [](int o) { return o == 1 || o == 2; }},
                      {"nlg", [](int o) { return o == 0 || o == 2; }}};

template <class T>
void add(std::vector<Case>& list, const Named& n, const std::string& type, const std::string& operands) {
  const std::string name = std::string("v_cmp_") + n.name + "_" + type;
  list.push_back({{name}, "vcc_lo, " + operands, compare<T>(vcc_at, n.f)});
  list.push_back({{name}, "s6, " + operands, compare<T>(6, n.f)});
  list.push_back({{std::string("v_cmpx_") + n.name + "_" + type}, operands, compare<T>(exec_at, n.f)});
}

template <class T>
std::function<void(State&)> compare_scalars(int words, F f) {
  return [=](State& s) {
    if (words == 2) {
      s.scc = f(order(s.wide_scalar(0), s.wide_scalar(2)));
    } else {
      s.scc = f(order(std::bit_cast<T>(s.s[0]), std::bit_cast<T>(s.s[2])));
    }
  };
}

}  // namespace

std::vector<Case> mask_cases() {
  std::vector<Case> list;
  for (const Named& n : real) {
    add<float>(list, n, "f32", "v0, v2");
    list.push_back({{std::string("s_cmp_") + n.name + "_f32"}, "s0, s2", compare_scalars<float>(1, n.f)});
  }
  for (const Named& n : whole) {
    add<uint32_t>(list, n, "u32", "v0, v2");
    add<int32_t>(list, n, "i32", "v0, v2");
    add<uint64_t>(list, n, "u64", "v[0:1], v[2:3]");
    add<int64_t>(list, n, "i64", "v[0:1], v[2:3]");
    add<uint16_t>(list, n, "u16", "v0, v2");
    add<int16_t>(list, n, "i16", "v0, v2");
    const std::string name = n.name == std::string("ne") ? "lg" : n.name;
    list.push_back({{"s_cmp_" + name + "_u32"}, "s0, s2", compare_scalars<uint32_t>(1, n.f)});
    list.push_back({{"s_cmp_" + name + "_i32"}, "s0, s2", compare_scalars<int32_t>(1, n.f)});
    list.push_back({{"s_cmp_" + name + "_u64"}, "s[0:1], s[2:3]", compare_scalars<uint32_t>(2, n.f)});
    list.push_back({{"s_cmpk_" + name + "_i32"}, "s0, 0xff85", [f = n.f](State& s) {
                      s.scc = f(order(static_cast<int32_t>(s.s[0]), -123));
                    }});
    list.push_back({{"s_cmpk_" + name + "_u32"}, "s0, 0xff85", [f = n.f](State& s) {
                      s.scc = f(order(s.s[0], 0xff85u));
                    }});
  }
  list.push_back(
      {{"s_bitcmp0_b32"}, "s0, s2", [](State& s) { s.scc = s.s[0] / (1u << s.s[2] % 32) % 2 == 0; }});
  list.push_back(
      {{"s_bitcmp1_b32"}, "s0, s2", [](State& s) { s.scc = s.s[0] / (1u << s.s[2] % 32) % 2 == 1; }});
  list.push_back({{"v_cmp_class_f32"}, "s6, v0, v2", [](State& s) {
                    s.s[6] = 0;
                    for (int l = 0; l < 32; ++l) {
                      const int c = number_class(std::bit_cast<float>(s.v[0][l]));
                      if (s.active(l) && s.v[2][l] >> c & 1) s.s[6] |= 1u << l;
                    }
                  }});
  return list;
}

}  // namespace lockstep::rdna::test
