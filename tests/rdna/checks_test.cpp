// What hardware lets pass and the emulator must refuse, each beside its right form.
#include "tests/catch.h"
#include "tests/rdna/assemble.h"
#include "tests/rdna/workgroup.h"

using namespace lockstep::rdna;

namespace {

constexpr uint32_t words = 64;  // of the memory that the argument points to

// What a kernel of these lines is told, or "" when it ends well.
std::string fault_of(const char* chip, const std::string& text, uint32_t threads = 32,
                     uint32_t lds_bytes = 256, bool memory_written = true) {
  const Assembled kernel(chip_of(chip), text + "\ns_endpgm\n");
  std::vector<uint32_t> memory(words, 5);
  const uint64_t argument[] = {reinterpret_cast<uint64_t>(memory.data())};
  MemoryMap map;
  map.add(memory.data(), words * 4, true, memory_written);
  map.add(argument, sizeof argument, false, true);
  try {
    run(Launch{&kernel.program, &map, {1, 1, 1}, threads, lds_bytes, argument}, 1);
    return "";
  } catch (const Fault& fault) {
    return fault.what();
  }
}
std::string on_rdna3(const std::string& text, uint32_t threads = 32, uint32_t lds_bytes = 256) {
  return fault_of("gfx1151", text, threads, lds_bytes);
}

bool says(const std::string& fault, const char* words_of_it) {
  return fault.find(words_of_it) != std::string::npos;
}

const std::string pointer = "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 2, v0\n";

}  // namespace

TEST_CASE("registers that nobody wrote") {
  CHECK(on_rdna3("v_mov_b32 v1, 7\nv_readfirstlane_b32 s4, v1").empty());
  CHECK(says(on_rdna3("v_readfirstlane_b32 s4, v1"), "v1, which nobody wrote"));
  CHECK(says(on_rdna3("s_add_i32 s4, s9, 1"), "s9, which nobody wrote"));
  CHECK(says(on_rdna3("s_cselect_b32 s4, 1, 2"), "SCC, which nobody wrote"));
  // A copy is no use of it; what is made of the copy is.
  CHECK(on_rdna3("v_mov_b32 v2, v1\nv_add_nc_u32 v3, v2, v0").empty());
  CHECK(says(on_rdna3("v_mov_b32 v2, v1\nv_add_nc_u32 v3, v2, v0\nv_cmp_eq_u32 vcc_lo, v3, v0"),
             "nobody wrote"));
  // A mask may be written for some lanes only, as long as the others are taken out before it is used.
  CHECK(on_rdna3("s_and_not1_b32 s4, s9, exec_lo\ns_or_b32 s4, s4, exec_lo\nv_cndmask_b32 v1, 0, v0, s4", 16)
            .empty());
  CHECK(on_rdna3("s_and_b32 s4, s9, 0\ns_add_i32 s5, s4, 1").empty());
  CHECK(says(on_rdna3("s_and_b32 s4, s9, 1\ns_add_i32 s5, s4, 1"), "s4, which nobody wrote"));
  CHECK(says(on_rdna3("s_and_not1_b32 s4, s9, 1\nv_cndmask_b32 v1, 0, v0, s4"), "a mask that nobody wrote"));
  CHECK(says(on_rdna3("s_or_saveexec_b32 s4, s9", 16), "sets EXEC from what nobody wrote"));
  // One lane is enough.
  CHECK(
      says(on_rdna3("v_cmp_lt_u32 s4, 3, v0\ns_mov_b32 s5, exec_lo\ns_mov_b32 exec_lo, s4\nv_mov_b32 v1, 0\n"
                    "s_mov_b32 exec_lo, s5\nv_cmp_eq_u32 vcc_lo, v1, v0"),
           "nobody wrote"));
}

TEST_CASE("memory out of bounds, read only, or never written") {
  CHECK(on_rdna3(pointer + "global_load_b32 v2, v1, s[4:5] offset:128\ns_waitcnt vmcnt(0)").empty());
  CHECK(says(on_rdna3(pointer + "global_load_b32 v2, v1, s[4:5] offset:130"), "of an allocation of 256"));
  CHECK(
      says(on_rdna3(pointer + "global_load_b128 v[2:5], v1, s[4:5] offset:120"), "of an allocation of 256"));
  CHECK(says(on_rdna3(pointer + "global_store_b32 v1, v0, s[0:1]", 1), "may only be read"));
  CHECK(says(on_rdna3("s_mov_b64 s[4:5], 64\ns_load_b32 s6, s[4:5], 0x0"), "where no memory is"));
  const std::string load = pointer + "global_load_b32 v2, v1, s[4:5]\ns_waitcnt vmcnt(0)";
  CHECK(says(fault_of("gfx1151", load, 32, 256, false), "byte 0 of an allocation, which nobody wrote"));
  CHECK(fault_of("gfx1151", pointer + "global_store_b32 v1, v0, s[4:5]\n" + load, 32, 256, false).empty());
}

TEST_CASE("the LDS out of bounds, never written, and raced for") {
  const std::string address = "v_lshlrev_b32 v1, 2, v0\n", wait = "s_waitcnt lgkmcnt(0)\n",
                    meet = wait + "s_barrier\n";
  const std::string own = address + "ds_store_b32 v1, v0\n", next = "v_xor_b32 v2, 0x80, v1\n";
  CHECK(on_rdna3(own + wait + "ds_load_b32 v3, v1\n" + wait).empty());
  CHECK(says(on_rdna3(address + "ds_store_b32 v1, v0 offset:132"), "there are 256"));
  CHECK(says(on_rdna3(address + "ds_load_b32 v3, v1"), "LDS byte 0, which nobody wrote"));
  // 64 threads: two waves; each reads what the other wrote.
  CHECK(on_rdna3(own + meet + next + "ds_load_b32 v3, v2\n" + wait, 64).empty());
  CHECK(says(on_rdna3(own + wait + next + "ds_load_b32 v3, v2\n" + wait, 64), "nobody wrote"));
  CHECK(says(on_rdna3(own + meet + next + "ds_load_b32 v3, v2\nds_store_b32 v1, v0\n" + wait, 64),
             "since the last barrier"));
  CHECK(says(on_rdna3("v_mov_b32 v1, 0\nds_store_b32 v1, v0\n" + wait, 64), "wave 0 wrote"));
  // Atomics may meet.
  const std::string zero =
      "v_mov_b32 v1, 0\nv_cmp_eq_u32 s4, 0, v0\ns_and_saveexec_b32 s5, s4\n"
      "ds_store_b32 v1, v1\ns_mov_b32 exec_lo, s5\n";
  CHECK(on_rdna3(zero + meet + "ds_add_u32 v1, v0\n" + wait, 64).empty());
  CHECK(says(on_rdna3(zero + meet + "ds_add_u32 v1, v0\nds_load_b32 v2, v1\n" + wait, 64),
             "an atomic operation wrote"));
}

TEST_CASE("loads that no wait covers") {
  const std::string two = pointer + "global_load_b32 v2, v1, s[4:5]\nglobal_load_b32 v3, v1, s[4:5]\n";
  const std::string use2 = "v_add_nc_u32 v4, v2, v0\n", use3 = "v_add_nc_u32 v4, v3, v0\n",
                    end = "s_waitcnt vmcnt(0)";
  CHECK(says(on_rdna3(two + use2), "no wait has covered"));
  CHECK(on_rdna3(two + "s_waitcnt vmcnt(1)\n" + use2 + end).empty());
  CHECK(says(on_rdna3(two + "s_waitcnt vmcnt(1)\n" + use3), "no wait has covered"));
  CHECK(says(on_rdna3(two + "v_mov_b32 v2, 0"), "overwrites a register whose load"));
  CHECK(says(on_rdna3(two + "s_waitcnt lgkmcnt(0)\n" + use2), "no wait has covered"));
  // Scalar loads come in any order: only 0 covers one.
  const std::string scalars = "s_load_b32 s4, s[0:1], 0x0\ns_load_b32 s5, s[0:1], 0x4\n";
  CHECK(says(on_rdna3(scalars + "s_waitcnt lgkmcnt(1)\ns_add_i32 s6, s4, 1"), "no wait has covered"));
  CHECK(on_rdna3(scalars + "s_waitcnt lgkmcnt(0)\ns_add_i32 s6, s4, 1").empty());
  // RDNA4 counts apart.
  const std::string mixed =
      "s_load_b64 s[4:5], s[0:1], 0x0\ns_wait_kmcnt 0x0\nv_lshlrev_b32 v1, 2, v0\n"
      "ds_store_b32 v1, v0\ns_wait_dscnt 0x0\nds_load_b32 v2, v1\n"
      "global_load_b32 v3, v1, s[4:5]\n";
  CHECK(fault_of("gfx1201", mixed + "s_wait_dscnt 0x0\n" + use2 + "s_wait_loadcnt 0x0\n" + use3).empty());
  CHECK(says(fault_of("gfx1201", mixed + "s_wait_dscnt 0x0\n" + use3), "no wait has covered"));
  CHECK(says(fault_of("gfx1201", mixed + "s_wait_loadcnt 0x0\n" + use2), "no wait has covered"));
  CHECK(fault_of("gfx1201", mixed + "s_wait_loadcnt_dscnt 0x0\n" + use2 + use3).empty());
}

TEST_CASE("barriers that lanes, waves or stores miss") {
  CHECK(on_rdna3("s_barrier", 64).empty());
  const std::string half = "v_cmp_gt_u32 s4, 16, v0\ns_and_saveexec_b32 s5, s4\n";
  CHECK(says(on_rdna3(half + "s_barrier"), "lanes that went another way"));
  CHECK(on_rdna3(half + "s_mov_b32 exec_lo, s5\ns_barrier").empty());
  const std::string first = "v_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, 0\n";
  CHECK(says(on_rdna3(first + "s_cbranch_scc0 1\ns_barrier", 64), "do not meet"));
  CHECK(says(on_rdna3(first + "s_cbranch_scc0 2\ns_barrier\ns_branch 1\ns_barrier", 64), "do not meet"));
  CHECK(
      says(on_rdna3("v_lshlrev_b32 v1, 2, v0\nds_store_b32 v1, v0\ns_barrier"), "before its LDS operations"));
  CHECK(fault_of("gfx1201", "s_barrier_signal -1\ns_barrier_wait -1", 64).empty());
  CHECK(says(fault_of("gfx1201", "s_barrier_wait -1", 64), "did not signal"));
}

TEST_CASE("an instruction that is not known is named") {
  try {
    const Assembled kernel(chip_of("gfx1151"), "s_nop 0\nv_exp_f32 v0, v1\ns_endpgm\n");
    FAIL(kernel.program.kernel.name << " was taken");
  } catch (const Fault& fault) {
    CHECK(std::string(fault.what()) == "test+0x4: v_exp_f32_e32 v0, v1: this instruction is not known");
  }
  try {
    const Chip& chip = chip_of("gfx900");
    FAIL(chip.name << " was taken");
  } catch (const std::runtime_error& error) {
    CHECK(says(error.what(), "it knows: gfx1030, gfx1100, gfx1151, gfx1201"));
  }
}
