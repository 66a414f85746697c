#include <cstdlib>

#include "tests/rdna/instruction_cases.h"

namespace lockstep::rdna::test {

namespace {

__extension__ using Wide = __int128;
__extension__ using WideBits = unsigned __int128;

// Result and SCC of f; SCC stays where f leaves it.
std::function<void(State&)> to(int words, std::function<Wide(State&)> f) {
  return [=](State& s) { s.put_scalar(6, static_cast<uint64_t>(f(s)), words); };
}
Wide u(uint32_t a) { return a; }
Wide i(uint32_t a) { return static_cast<int32_t>(a); }
// What SCC tells of most results: that they are not 0.
std::function<void(State&)> logic(int words, std::function<Wide(const State&)> f) {
  return [=](State& s) {
    const auto r = static_cast<uint64_t>(f(s));
    s.put_scalar(6, r, words);
    s.scc = words == 2 ? r != 0 : static_cast<uint32_t>(r) != 0;
  };
}
std::function<void(State&)> sum(bool subtract, bool with_carry, bool is_signed) {
  return [=](State& s) {
    const auto n = [&](uint32_t a) { return is_signed ? i(a) : u(a); };
    const Wide c = with_carry && s.scc, r = subtract ? n(s.s[0]) - n(s.s[2]) - c : n(s.s[0]) + n(s.s[2]) + c;
    s.put_scalar(6, static_cast<uint64_t>(r));
    s.scc = is_signed ? r != i(static_cast<uint32_t>(r)) : r < 0 || r > 0xffffffffll;
  };
}
std::function<void(State&)> save(std::function<uint32_t(uint32_t, uint32_t)> f) {
  return [=](State& s) {
    const uint32_t before = s.s[exec_at];
    s.s[exec_at] = f(s.s[0], before);
    s.s[6] = before;
    s.scc = s.s[exec_at] != 0;
  };
}
std::function<void(State&)> jump(std::function<bool(const State&)> when) {
  return [=](State& s) { s.next += when(s) ? 5 : 0; };
}
const char two[] = "s6, s0, s2", pair[] = "s[6:7], s[0:1], s[2:3]";
constexpr auto nothing = [](State&) {};

}  // namespace

std::vector<Case> scalar_cases() {
  return {
      {{"s_add_u32", "s_add_co_u32"}, two, sum(false, false, false)},
      {{"s_addc_u32", "s_add_co_ci_u32"}, two, sum(false, true, false)},
      {{"s_sub_u32"}, two, sum(true, false, false)},
      {{"s_subb_u32", "s_sub_co_ci_u32"}, two, sum(true, true, false)},
      {{"s_add_i32", "s_add_co_i32"}, two, sum(false, false, true)},
      {{"s_sub_i32", "s_sub_co_i32"}, two, sum(true, false, true)},
      {{"s_addk_i32", "s_addk_co_i32"},
       "s6, 0xff85",
       [](State& s) {
         const Wide r = i(s.s[6]) - 123;
         s.put_scalar(6, static_cast<uint64_t>(r));
         s.scc = r != i(static_cast<uint32_t>(r));
       }},
      {{"s_mul_i32"}, two, to(1, [](State& s) { return u(s.s[0]) * u(s.s[2]); })},
      {{"s_mulk_i32"}, "s6, 0xff85", to(1, [](State& s) { return i(s.s[6]) * -123; })},
      {{"s_mul_hi_u32"}, two, to(1, [](State& s) { return (u(s.s[0]) * u(s.s[2])) >> 32; })},
      {{"s_mul_hi_i32"}, two, to(1, [](State& s) { return (i(s.s[0]) * i(s.s[2])) >> 32; })},
      {{"s_mul_u64"}, pair, to(2, [](State& s) { return Wide{s.wide_scalar(0)} * Wide{s.wide_scalar(2)}; })},
      {{"s_add_nc_u64"},
       pair,
       to(2, [](State& s) { return Wide{s.wide_scalar(0)} + Wide{s.wide_scalar(2)}; })},
      {{"s_sub_nc_u64"},
       pair,
       to(2, [](State& s) { return Wide{s.wide_scalar(0)} - Wide{s.wide_scalar(2)}; })},
      {{"s_abs_i32"},
       "s6, s0",
       logic(1, [](const State& s) { return i(s.s[0]) < 0 ? -i(s.s[0]) : i(s.s[0]); })},
      {{"s_min_i32"},
       two,
       [](State& s) {
         s.scc = i(s.s[0]) < i(s.s[2]);
         s.s[6] = s.s[s.scc ? 0 : 2];
       }},
      {{"s_max_i32"},
       two,
       [](State& s) {
         s.scc = i(s.s[0]) >= i(s.s[2]);
         s.s[6] = s.s[s.scc ? 0 : 2];
       }},
      {{"s_and_b32"}, two, logic(1, [](const State& s) { return u(s.s[0]) & s.s[2]; })},
      {{"s_or_b32"}, two, logic(1, [](const State& s) { return u(s.s[0]) | s.s[2]; })},
      {{"s_xor_b32"}, two, logic(1, [](const State& s) { return u(s.s[0]) ^ s.s[2]; })},
      {{"s_or_b64"},
       pair,
       logic(2, [](const State& s) { return Wide{s.wide_scalar(0) | s.wide_scalar(2)}; })},
      {{"s_xor_b64"},
       pair,
       logic(2, [](const State& s) { return Wide{s.wide_scalar(0) ^ s.wide_scalar(2)}; })},
      {{"s_andn2_b32", "s_and_not1_b32"},
       two,
       logic(1, [](const State& s) { return u(s.s[0]) & u(~s.s[2]); })},
      {{"s_orn2_b32", "s_or_not1_b32"}, two, logic(1, [](const State& s) { return u(s.s[0]) | u(~s.s[2]); })},
      {{"s_not_b32"}, "s6, s0", logic(1, [](const State& s) { return 0xffffffffll - u(s.s[0]); })},
      {{"s_and_saveexec_b32"}, "s6, s0", save([](uint32_t a, uint32_t e) { return a & e; })},
      {{"s_or_saveexec_b32"}, "s6, s0", save([](uint32_t a, uint32_t e) { return a | e; })},
      {{"s_andn2_saveexec_b32", "s_and_not1_saveexec_b32"}, "s6, s0", save([](uint32_t a, uint32_t e) {
         return a & (a ^ e);
       })},
      {{"s_lshl_b32"}, two, logic(1, [](const State& s) { return u(s.s[0]) << s.s[2] % 32; })},
      {{"s_lshr_b32"}, two, logic(1, [](const State& s) { return u(s.s[0]) >> s.s[2] % 32; })},
      {{"s_ashr_i32"}, two, logic(1, [](const State& s) { return i(s.s[0]) >> s.s[2] % 32; })},
      {{"s_lshl_b64"},
       "s[6:7], s[0:1], s2",
       logic(2,
             [](const State& s) {
               return static_cast<Wide>(static_cast<WideBits>(s.wide_scalar(0)) << s.s[2] % 64);
             })},
      {{"s_lshr_b64"},
       "s[6:7], s[0:1], s2",
       logic(2, [](const State& s) { return Wide{s.wide_scalar(0)} >> s.s[2] % 64; })},
      {{"s_bfe_i32"},
       "s6, s0, 0x90005",
       logic(1,
             [](const State& s) {
               const Wide field = u(s.s[0]) / 32 % 512;
               return field >= 256 ? field - 512 : field;
             })},
      {{"s_bfe_i32"},
       two,
       logic(1,
             [](const State& s) {
               const int first = static_cast<int>(s.s[2] % 32),
                         width = static_cast<int>(s.s[2] / 65536 % 128);
               Wide field = 0;
               for (int n = 0; n < width && n < 32; ++n) field += ((i(s.s[0]) >> (first + n)) & 1) << n;
               const int top = width > 32 ? 32 : width;
               return top && field >> (top - 1) & 1 ? field - (Wide{1} << top) : field;
             })},
      {{"s_bcnt1_i32_b32"},
       "s6, s0",
       logic(1,
             [](const State& s) {
               Wide count = 0;
               for (uint32_t left = s.s[0]; left; left /= 2) count += left % 2;
               return count;
             })},
      {{"s_sext_i32_i8"},
       "s6, s0",
       to(1, [](State& s) { return u(s.s[0] % 256) - (s.s[0] % 256 >= 128 ? 256 : 0); })},
      {{"s_sext_i32_i16"},
       "s6, s0",
       to(1, [](State& s) { return u(s.s[0] % 65536) - (s.s[0] % 65536 >= 32768 ? 65536 : 0); })},
      {{"s_bitset0_b32"},
       "s6, s0",
       to(1, [](State& s) { return u(s.s[6]) - (s.s[6] >> s.s[0] % 32 & 1 ? Wide{1} << s.s[0] % 32 : 0); })},
      {{"s_bitset1_b32"},
       "s6, s0",
       to(1, [](State& s) { return u(s.s[6]) + (s.s[6] >> s.s[0] % 32 & 1 ? 0 : Wide{1} << s.s[0] % 32); })},
      {{"s_mov_b32"}, "s6, s0", to(1, [](State& s) { return u(s.s[0]); })},
      {{"s_mov_b32"}, "s6, -1", to(1, [](State&) { return Wide{-1}; })},
      {{"s_mov_b64"}, "s[6:7], s[0:1]", to(2, [](State& s) { return Wide{s.wide_scalar(0)}; })},
      {{"s_mov_b64"}, "s[6:7], -2", to(2, [](State&) { return Wide{-2}; })},
      {{"s_mov_b64"}, "s[6:7], 0xcc", to(2, [](State&) { return Wide{0xcc}; })},
      {{"s_movk_i32"}, "s6, 0xff85", to(1, [](State&) { return Wide{-123}; })},
      {{"s_cselect_b32"}, two, to(1, [](State& s) { return u(s.s[s.scc ? 0 : 2]); })},
      {{"s_getpc_b64"}, "s[6:7]", [](State& s) { s.put_scalar(6, s.code_at + 4, 2); }},
      {{"s_branch"}, "5", jump([](const State&) { return true; })},
      {{"s_cbranch_scc0"}, "5", jump([](const State& s) { return !s.scc; })},
      {{"s_cbranch_scc1"}, "5", jump([](const State& s) { return s.scc; })},
      {{"s_cbranch_vccz"}, "5", jump([](const State& s) { return s.s[vcc_at] == 0; })},
      {{"s_cbranch_vccnz"}, "5", jump([](const State& s) { return s.s[vcc_at] != 0; })},
      {{"s_cbranch_execz"}, "5", jump([](const State& s) { return s.s[exec_at] == 0; })},
      {{"s_cbranch_execnz"}, "5", jump([](const State& s) { return s.s[exec_at] != 0; })},
      {{"s_nop"}, "0", nothing},
      {{"s_clause"}, "0x1", nothing},
      {{"s_delay_alu"}, "instid0(VALU_DEP_1)", nothing},
      {{"s_inst_prefetch"}, "0x1", nothing},
      {{"s_set_inst_prefetch_distance"}, "0x1", nothing},
      {{"s_sendmsg"}, "sendmsg(MSG_DEALLOC_VGPRS)", nothing},
      {{"s_waitcnt_depctr"}, "0xfff", nothing},
  };
}

}  // namespace lockstep::rdna::test
