#include "tests/rdna/instruction_cases.h"

namespace lockstep::rdna::test {

namespace {

int signed_byte(uint32_t word, int n) { return static_cast<int8_t>(word >> 8 * n & 0xff); }
int plain_byte(uint32_t word, int n) { return static_cast<int>(word >> 8 * n & 0xff); }

// DPP: lane l gets f's lane of v0 where that lane is active; where it is not, 0 with bound_ctrl, else
// nothing.
template <class From, class Combine>
std::function<void(State&)> dpp(From from, bool bound, uint32_t rows, uint32_t banks, Combine combine) {
  return [=](State& s) {
    const State before = s;
    for (int l = 0; l < 32; ++l) {
      if (!(rows >> l / 16 & 1) || !(banks >> l % 16 / 4 & 1)) continue;
      const int other = l / 16 * 16 + from(l % 16);
      if (before.active(other)) {
        s.put(6, l, combine(before.v[0][other], before.v[2][l]));
      } else if (bound) {
        s.put(6, l, combine(0, before.v[2][l]));
      }
    }
  };
}
uint32_t first_of(uint32_t a, uint32_t) { return a; }
uint32_t sum_of(uint32_t a, uint32_t b) { return a + b; }
uint32_t real_sum(uint32_t a, uint32_t b) {
  float x, y;
  std::memcpy(&x, &a, 4);
  std::memcpy(&y, &b, 4);
  x = static_cast<float>(static_cast<double>(x) + static_cast<double>(y));
  std::memcpy(&a, &x, 4);
  return a;
}

// The product of two 16 x 16 matrices of bytes, by their definition; `early`: RDNA3's places.
std::function<void(State&)> matrix(bool early, bool a_signed, bool b_signed) {
  return [=](State& s) {
    const State in = s;
    const auto element = [&](int r, int index, int k, bool is_signed) {
      const uint32_t word = early ? in.v[r + k / 4][index] : in.v[r + k % 8 / 4][index + 16 * (k / 8)];
      return is_signed ? signed_byte(word, k % 4) : plain_byte(word, k % 4);
    };
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 16; ++column) {
        const int r = early ? row / 2 : row % 8, lane = column + 16 * (early ? row % 2 : row / 8);
        int64_t sum = static_cast<int32_t>(in.v[8 + r][lane]);
        for (int k = 0; k < 16; ++k) sum += element(0, row, k, a_signed) * element(4, column, k, b_signed);
        s.v[16 + r][lane] = static_cast<uint32_t>(sum);
      }
    }
  };
}

// SDWA: the parts of words that an instruction reads or writes.
template <class F>
std::function<void(State&)> lanes_of(F f) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l) s.put(6, l, f(s.v[0][l], s.v[2][l]));
  };
}
template <class F>
std::function<void(State&)> mask_of(F f) {
  return [=](State& s) {
    s.s[6] = 0;
    for (int l = 0; l < 32; ++l) s.s[6] |= static_cast<uint32_t>(s.active(l) && f(s.v[0][l], s.v[2][l])) << l;
  };
}
uint32_t extended(uint32_t half) { return static_cast<uint32_t>(static_cast<int16_t>(half & 0xffff)); }

}  // namespace

std::vector<Case> lane_cases() {
  const std::string plain = " dst_sel:DWORD dst_unused:UNUSED_PAD";
  return {
      {{"v_mov_b32"},
       "v6, v0",
       [](State& s) {
         for (int l = 0; l < 32; ++l) s.put(6, l, s.v[0][l]);
       }},
      {{"v_mov_b32"},
       "v6, s0",
       [](State& s) {
         for (int l = 0; l < 32; ++l) s.put(6, l, s.s[0]);
       }},
      {{"v_mov_b32"},
       "v6, 0x12345678",
       [](State& s) {
         for (int l = 0; l < 32; ++l) s.put(6, l, 0x12345678);
       }},
      {{"v_mov_b32"},
       "v6, -16",
       [](State& s) {
         for (int l = 0; l < 32; ++l) s.put(6, l, 0xfffffff0);
       }},
      {{"v_mov_b32"},
       "v6, 0.5",
       [](State& s) {
         for (int l = 0; l < 32; ++l) s.put(6, l, 0x3f000000);
       }},
      {{"v_cndmask_b32"},
       "v6, v0, v2, vcc_lo",
       [](State& s) {
         for (int l = 0; l < 32; ++l) s.put(6, l, s.s[vcc_at] >> l & 1 ? s.v[2][l] : s.v[0][l]);
       }},
      {{"v_cndmask_b32"},
       "v6, -v0, |v2|, s4",
       [](State& s) {
         for (int l = 0; l < 32; ++l)
           s.put(6, l, s.s[4] >> l & 1 ? s.v[2][l] & 0x7fffffff : s.v[0][l] ^ 0x80000000);
       }},
      {{"v_readfirstlane_b32"},
       "s6, v0",
       [](State& s) {
         int lane = 0;
         while (lane < 31 && !s.active(lane)) ++lane;
         s.s[6] = s.v[0][s.active(lane) ? lane : 0];
       }},
      {{"v_permlanex16_b32"},
       "v6, v0, s0, s2",
       [](State& s) {
         const State in = s;
         for (int l = 0; l < 32; ++l) {
           const uint32_t word = in.s[l % 16 < 8 ? 0 : 2];
           const int other = (l < 16 ? 16 : 0) + static_cast<int>(word >> l % 8 * 4 & 15);
           if (in.active(other)) s.put(6, l, in.v[0][other]);
         }
       }},
      {{"v_mbcnt_lo_u32_b32"},
       "v6, s0, v2",
       [](State& s) {
         for (int l = 0; l < 32; ++l) {
           uint32_t count = s.v[2][l];
           for (int b = 0; b < l; ++b) count += s.s[0] >> b & 1;
           s.put(6, l, count);
         }
       }},
      {{"v_mov_b32_dpp"},
       "v6, v0 row_xmask:5 row_mask:0xf bank_mask:0xf bound_ctrl:1",
       dpp([](int l) { return l ^ 5; }, true, 3, 15, first_of)},
      {{"v_mov_b32_dpp"},
       "v6, v0 row_share:11 row_mask:0xf bank_mask:0xf",
       dpp([](int) { return 11; }, false, 3, 15, first_of)},
      {{"v_mov_b32_dpp"},
       "v6, v0 row_xmask:8 row_mask:0x1 bank_mask:0x6",
       dpp([](int l) { return l ^ 8; }, false, 1, 6, first_of)},
      {{"v_add_nc_u32_dpp"},
       "v6, v0, v2 row_xmask:2 row_mask:0xf bank_mask:0xf bound_ctrl:1",
       dpp([](int l) { return l ^ 2; }, true, 3, 15, sum_of)},
      {{"v_add_f32_dpp"},
       "v6, v0, v2 row_share:3 row_mask:0x2 bank_mask:0xf bound_ctrl:1",
       dpp([](int) { return 3; }, true, 2, 15, real_sum),
       Compare::real},
      {{"v_dot4c_i32_i8"},
       "v6, v0, v2",
       [](State& s) {
         for (int l = 0; l < 32; ++l) {
           int64_t sum = static_cast<int32_t>(s.v[6][l]);
           for (int n = 0; n < 4; ++n) sum += signed_byte(s.v[0][l], n) * signed_byte(s.v[2][l], n);
           s.put(6, l, static_cast<uint64_t>(sum));
         }
       },
       Compare::bits,
       Inputs::exhaustive_bytes},
      {{"v_wmma_i32_16x16x16_iu8"},
       "v[16:23], v[0:3], v[4:7], v[8:15] neg_lo:[0,1,0]",
       matrix(true, false, true),
       Compare::bits,
       Inputs::all_lanes,
       "gfx11"},
      {{"v_wmma_i32_16x16x16_iu8"},
       "v[16:23], v[0:3], v[4:7], v[8:15] neg_lo:[1,1,0]",
       matrix(true, true, true),
       Compare::bits,
       Inputs::all_lanes,
       "gfx11"},
      {{"v_wmma_i32_16x16x16_iu8"},
       "v[16:23], v[0:1], v[4:5], v[8:15] neg_lo:[0,1,0]",
       matrix(false, false, true),
       Compare::bits,
       Inputs::all_lanes,
       "gfx12"},
      {{"v_wmma_i32_16x16x16_iu8"},
       "v[16:23], v[0:1], v[4:5], v[8:15] neg_lo:[1,0,0]",
       matrix(false, true, false),
       Compare::bits,
       Inputs::all_lanes,
       "gfx12"},
      {{"v_and_b32_sdwa"},
       "v6, sext(v0), v2" + plain + " src0_sel:WORD_0 src1_sel:DWORD",
       lanes_of([](uint32_t a, uint32_t b) { return extended(a) & b; })},
      {{"v_or_b32_sdwa"},
       "v6, v0, v2" + plain + " src0_sel:WORD_1 src1_sel:BYTE_2",
       lanes_of([](uint32_t a, uint32_t b) { return a / 65536 | (b / 65536 & 255); })},
      {{"v_lshlrev_b32_sdwa"},
       "v6, v0, sext(v2)" + plain + " src0_sel:DWORD src1_sel:WORD_0",
       lanes_of([](uint32_t a, uint32_t b) { return extended(b) << a % 32; })},
      {{"v_lshrrev_b32_sdwa"},
       "v6, v0, v2 dst_sel:BYTE_3 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
       lanes_of([](uint32_t a, uint32_t b) { return (b >> a % 32) << 24; })},
      {{"v_lshrrev_b32_sdwa"},
       "v6, v0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
       lanes_of([](uint32_t a, uint32_t b) { return (b >> a % 32) << 16; })},
      {{"v_cmp_eq_u16_sdwa"},
       "s6, v0, v2 src0_sel:BYTE_0 src1_sel:DWORD",
       mask_of([](uint32_t a, uint32_t b) { return (a & 255) == (b & 65535); })},
      {{"v_cmp_ne_u16_sdwa"},
       "s6, v0, v2 src0_sel:BYTE_0 src1_sel:DWORD",
       mask_of([](uint32_t a, uint32_t b) { return (a & 255) != (b & 65535); })},
      {{"v_cmp_lt_i16_sdwa"},
       "s6, v0, v2 src0_sel:BYTE_0 src1_sel:DWORD",
       mask_of(
           [](uint32_t a, uint32_t b) { return static_cast<int>(a & 255) < static_cast<int>(extended(b)); })},
      // Pairs: each half reads what the other writes.
      {{"v_dual_mov_b32"},
       "v6, v3 :: v_dual_mov_b32 v3, v6",
       [](State& s) {
         const State in = s;
         for (int l = 0; l < 32; ++l) s.put(6, l, in.v[3][l]), s.put(3, l, in.v[6][l]);
       },
       Compare::bits,
       Inputs::any,
       "gfx11"},
      {{"v_dual_fmac_f32"},
       "v6, v0, v3 :: v_dual_add_nc_u32 v3, v2, v6",
       [](State& s) {
         const State in = s;
         for (int l = 0; l < 32; ++l) {
           float a, b, c;
           std::memcpy(&a, &in.v[0][l], 4), std::memcpy(&b, &in.v[3][l], 4), std::memcpy(&c, &in.v[6][l], 4);
           a = __builtin_fmaf(a, b, c);
           uint32_t bits;
           std::memcpy(&bits, &a, 4);
           s.put(6, l, bits), s.put(3, l, in.v[2][l] + in.v[6][l]);
         }
       },
       Compare::real},
      {{"v_dual_cndmask_b32"},
       "v6, v0, v3 :: v_dual_lshlrev_b32 v3, v2, v6",
       [](State& s) {
         const State in = s;
         for (int l = 0; l < 32; ++l) {
           s.put(6, l, in.s[vcc_at] >> l & 1 ? in.v[3][l] : in.v[0][l]);
           s.put(3, l, in.v[6][l] << in.v[2][l] % 32);
         }
       }},
  };
}

}  // namespace lockstep::rdna::test
