#include <algorithm>

#include "tests/rdna/instruction_cases.h"

namespace lockstep::rdna::test {

namespace {

__extension__ using Wide = __int128;
__extension__ using WideBits = unsigned __int128;

// f of up to three sources as the numbers that `read` makes of registers; the low 32 bits of it are the
// result.
using F = std::function<Wide(Wide, Wide, Wide)>;
Wide as_unsigned(uint32_t a) { return a; }
Wide as_signed(uint32_t a) { return static_cast<int32_t>(a); }

std::function<void(State&)> each(Wide (*read)(uint32_t), F f) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l)
      s.put(6, l, static_cast<uint64_t>(f(read(s.v[0][l]), read(s.v[2][l]), read(s.v[4][l]))));
  };
}
std::function<void(State&)> wide(std::function<uint64_t(const State&, int)> f) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l) s.put(6, l, f(s, l), 2);
  };
}
// Results of 16 bits keep the upper half of the target.
std::function<void(State&)> half(std::function<int(int, int)> f) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l) {
      const int r = f(static_cast<int>(s.v[0][l] & 0xffff), static_cast<int>(s.v[2][l] & 0xffff));
      s.put(6, l, (s.v[6][l] & 0xffff0000) | (static_cast<uint32_t>(r) & 0xffff));
    }
  };
}
// A sum with a carry: the lane's bit of the mask register is set, of inactive lanes 0.
std::function<void(State&)> carry(int mask, int mask_in, bool subtract) {
  return [=](State& s) {
    const uint32_t in = mask_in < 0 ? 0 : s.s[mask_in];
    uint32_t out = 0;
    for (int l = 0; l < 32; ++l) {
      const Wide a = s.v[0][l], b = s.v[2][l], c = in >> l & 1, r = subtract ? a - b - c : a + b + c;
      if (s.active(l) && (r < 0 || r > 0xffffffffll)) out |= 1u << l;
      s.put(6, l, static_cast<uint64_t>(r));
    }
    s.s[mask] = out;
  };
}
Wide power(Wide n) { return Wide{1} << static_cast<int>(n); }
Wide low24(Wide a, bool is_signed) {
  const Wide field = ((a % power(24)) + power(24)) % power(24);
  return is_signed && field >= power(23) ? field - power(24) : field;
}
Wide low5(Wide a) { return ((a % 32) + 32) % 32; }
Wide floor_shift(Wide a, Wide by) {  // a / 2^by, rounded down
  const Wide d = power(by), q = a / d;
  return a % d < 0 ? q - 1 : q;
}
int bit_of(Wide a, int n) { return static_cast<int>(static_cast<uint32_t>(a) >> n & 1); }
// Bits joined by a function of one bit each.
Wide bitwise(const std::function<int(int)>& f) {
  Wide r = 0;
  for (int n = 0; n < 32; ++n) r += f(n) ? power(n) : 0;
  return r;
}

const char two[] = "v6, v0, v2", three[] = "v6, v0, v2, v4", one[] = "v6, v0";

}  // namespace

std::vector<Case> integer_cases() {
  const auto u = as_unsigned;
  const auto i = as_signed;
  return {
      {{"v_add_nc_u32"}, two, each(u, [](Wide a, Wide b, Wide) { return a + b; })},
      {{"v_sub_nc_u32"}, two, each(u, [](Wide a, Wide b, Wide) { return a - b; })},
      {{"v_subrev_nc_u32"}, two, each(u, [](Wide a, Wide b, Wide) { return b - a; })},
      {{"v_add3_u32"}, three, each(u, [](Wide a, Wide b, Wide c) { return a + b + c; })},
      {{"v_add_lshl_u32"}, three, each(u, [](Wide a, Wide b, Wide c) { return (a + b) * power(low5(c)); })},
      {{"v_lshl_add_u32"}, three, each(u, [](Wide a, Wide b, Wide c) { return a * power(low5(b)) + c; })},
      {{"v_lshl_or_b32"},
       three,
       each(u,
            [](Wide a, Wide b, Wide c) {
              return bitwise([=](int n) { return bit_of(a * power(low5(b)), n) || bit_of(c, n); });
            })},
      {{"v_and_b32"},
       two,
       each(u, [](Wide a, Wide b,
                  Wide) { return bitwise([=](int n) { return bit_of(a, n) + bit_of(b, n) == 2; }); })},
      {{"v_or_b32"},
       two,
       each(u, [](Wide a, Wide b,
                  Wide) { return bitwise([=](int n) { return bit_of(a, n) + bit_of(b, n) > 0; }); })},
      {{"v_xor_b32"},
       two,
       each(u, [](Wide a, Wide b,
                  Wide) { return bitwise([=](int n) { return bit_of(a, n) != bit_of(b, n); }); })},
      {{"v_not_b32"}, one, each(u, [](Wide a, Wide, Wide) { return power(32) - 1 - a; })},
      {{"v_and_or_b32"},
       three,
       each(u,
            [](Wide a, Wide b, Wide c) {
              return bitwise([=](int n) { return bit_of(a, n) * bit_of(b, n) + bit_of(c, n) > 0; });
            })},
      {{"v_or3_b32"},
       three,
       each(u,
            [](Wide a, Wide b, Wide c) {
              return bitwise([=](int n) { return bit_of(a, n) + bit_of(b, n) + bit_of(c, n) > 0; });
            })},
      {{"v_lshlrev_b32"}, two, each(u, [](Wide by, Wide a, Wide) { return a * power(low5(by)); })},
      {{"v_lshrrev_b32"}, two, each(u, [](Wide by, Wide a, Wide) { return a / power(low5(by)); })},
      {{"v_ashrrev_i32"}, two, each(i, [](Wide by, Wide a, Wide) { return floor_shift(a, low5(by)); })},
      {{"v_lshlrev_b64"}, "v[6:7], v0, v[2:3]", wide([](const State& s, int l) {
         return static_cast<uint64_t>(static_cast<WideBits>(s.wide(2, l)) << (s.v[0][l] % 64));
       })},
      {{"v_lshrrev_b64"}, "v[6:7], v0, v[2:3]", wide([](const State& s, int l) {
         return static_cast<uint64_t>(Wide{s.wide(2, l)} / power(s.v[0][l] % 64));
       })},
      {{"v_ashrrev_i64"}, "v[6:7], v0, v[2:3]", wide([](const State& s, int l) {
         return static_cast<uint64_t>(floor_shift(static_cast<int64_t>(s.wide(2, l)), s.v[0][l] % 64));
       })},
      {{"v_alignbit_b32"},
       three,
       each(u, [](Wide a, Wide b, Wide c) { return (a * power(32) + b) / power(low5(c)); })},
      {{"v_bfe_u32"},
       three,
       each(u, [](Wide a, Wide b, Wide c) { return a / power(low5(b)) % power(low5(c)); })},
      {{"v_bfe_i32"},
       three,
       each(i,
            [](Wide a, Wide b, Wide c) {
              const Wide width = low5(c);
              if (width == 0) return Wide{0};
              const Wide moved = floor_shift(a, low5(b)),
                         field = (moved % power(width) + power(width)) % power(width);
              return field >= power(width - 1) ? field - power(width) : field;
            })},
      {{"v_bfrev_b32"},
       one,
       each(u, [](Wide a, Wide, Wide) { return bitwise([=](int n) { return bit_of(a, 31 - n); }); })},
      {{"v_ffbh_i32", "v_cls_i32"},
       one,
       each(i,
            [](Wide a, Wide, Wide) {
              for (int n = 1; n < 32; ++n) {
                if (bit_of(a, 31 - n) != bit_of(a, 31)) return Wide{n};
              }
              return Wide{-1};
            })},
      {{"v_min_u32"}, two, each(u, [](Wide a, Wide b, Wide) { return std::min(a, b); })},
      {{"v_min_i32"}, two, each(i, [](Wide a, Wide b, Wide) { return std::min(a, b); })},
      {{"v_max_u32"}, two, each(u, [](Wide a, Wide b, Wide) { return std::max(a, b); })},
      {{"v_max_i32"}, two, each(i, [](Wide a, Wide b, Wide) { return std::max(a, b); })},
      {{"v_med3_i32"},
       three,
       each(i,
            [](Wide a, Wide b, Wide c) {
              Wide sorted[] = {a, b, c};
              std::sort(sorted, sorted + 3);
              return sorted[1];
            })},
      {{"v_mul_lo_u32"}, two, each(u, [](Wide a, Wide b, Wide) { return a * b; })},
      {{"v_mul_hi_u32"}, two, each(u, [](Wide a, Wide b, Wide) { return a * b / power(32); })},
      {{"v_mul_u32_u24"},
       two,
       each(u, [](Wide a, Wide b, Wide) { return low24(a, false) * low24(b, false); })},
      {{"v_mul_hi_u32_u24"},
       two,
       each(u, [](Wide a, Wide b, Wide) { return low24(a, false) * low24(b, false) / power(32); })},
      {{"v_mul_i32_i24"}, two, each(u, [](Wide a, Wide b, Wide) { return low24(a, true) * low24(b, true); })},
      {{"v_mul_hi_i32_i24"},
       two,
       each(u, [](Wide a, Wide b, Wide) { return floor_shift(low24(a, true) * low24(b, true), 32); })},
      {{"v_mad_u32_u24"},
       three,
       each(u, [](Wide a, Wide b, Wide c) { return low24(a, false) * low24(b, false) + c; })},
      {{"v_mad_u64_u32", "v_mad_co_u64_u32"}, "v[6:7], null, v0, v2, v[4:5]", wide([](const State& s, int l) {
         return static_cast<uint64_t>(Wide{s.v[0][l]} * s.v[2][l] + Wide{s.wide(4, l)});
       })},
      {{"v_mad_i64_i32", "v_mad_co_i64_i32"}, "v[6:7], null, v0, v2, v[4:5]", wide([](const State& s, int l) {
         return static_cast<uint64_t>(as_signed(s.v[0][l]) * as_signed(s.v[2][l]) + Wide{s.wide(4, l)});
       })},
      {{"v_add_nc_u16"}, two, half([](int a, int b) { return a + b; })},
      {{"v_sub_nc_u16"}, two, half([](int a, int b) { return a - b; })},
      {{"v_lshrrev_b16"}, two, half([](int by, int a) { return a / (1 << by % 16); })},
      {{"v_ashrrev_i16"}, two, half([](int by, int a) {
         return static_cast<int>(floor_shift(a >= 0x8000 ? a - 0x10000 : a, by % 16));
       })},
      {{"v_add_co_u32"}, "v6, s6, v0, v2", carry(6, -1, false)},
      {{"v_sub_co_u32"}, "v6, s6, v0, v2", carry(6, -1, true)},
      {{"v_add_co_ci_u32"}, "v6, vcc_lo, v0, v2, vcc_lo", carry(vcc_at, vcc_at, false)},
      {{"v_add_co_ci_u32"}, "v6, s6, v0, v2, s4", carry(6, 4, false)},
      {{"v_sub_co_ci_u32"}, "v6, s6, v0, v2, s4", carry(6, 4, true)},
  };
}

}  // namespace lockstep::rdna::test
