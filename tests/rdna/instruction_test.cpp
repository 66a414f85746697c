// Every instruction of the code objects that ship, against instruction_cases.h: assembled, decoded and run on
// random and special values, in random sets of lanes.
#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "kernels/device/runtime.h"
#include "tests/catch.h"
#include "tests/rdna/assemble.h"
#include "tests/rdna/instruction_cases.h"
#include "tests/rdna/text.h"
#include "tests/rdna/workgroup.h"

using namespace lockstep::rdna;
using namespace lockstep::rdna::test;

namespace {

constexpr unsigned seed = 8;
constexpr uint32_t special[] = {
    0,          1,          2,          15,         16,         31,         32,         63,
    0x7f,       0x80,       0xff,       0x7fff,     0x8000,     0xffff,     0x7fffff,   0x800000,
    0xffffff,   0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffff0, 0x3f800000, 0xbf800000,
    0x40000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x007fffff,
    0x00000010, 0x807fffff, 0x4f800000, 0x4f7fffff, 0x5f000000, 0xdf000000, 0x3f7fffff, 0x34000000};

// What shipped code of a chip calls its instructions; DPP and SDWA forms are instructions of their own.
std::set<std::string> shipped(const char* chip) {
  std::set<std::string> names;
  const Disassembler disassembler(chip_of(chip));
  for (const auto& source : lockstep::kernels::gpu::code_objects_of(chip)) {
    const lockstep::rdna::CodeObject object(source.begin);
    for (const Kernel& kernel : object.kernels()) {
      for (const uint8_t* code = kernel.begin; code < kernel.end;) {
        size_t bytes = 0;
        const std::string text = disassembler.text(code, kernel.end, bytes);
        code += bytes;
        for (const std::string& half : halves_of(text)) {
          std::string name = half.substr(0, half.find(' '));
          for (const char* encoding : {"_e32", "_e64"}) {
            if (name.ends_with(encoding)) name.resize(name.size() - 4);
          }
          names.insert(name);
        }
      }
    }
  }
  return names;
}

// Tested where they stop, hold or end a wave (checks_test.cpp), against fp64 (below), or as the halves of
// pairs that have the cases of the single instructions.
bool tested_elsewhere(const std::string& name) {
  return name.starts_with("s_wait") || name.starts_with("s_barrier") || name == "s_endpgm" ||
         name.starts_with("v_div_") || (name.starts_with("v_dual_") && find_entry(take_apart(name).mnemonic));
}

class Bench {
 public:
  explicit Bench(const Chip& chip) : wave_(std::make_unique<Wave>()) {
    wave_->chip = &chip;
    wave_->group = &group_;
    wave_->memory = &map_;
    map_.add(memory_, memory_bytes, true, true);
    group_.lds.reset(memory_bytes);
  }

  // A wave of one state, and the same as a plain one.
  State begin(std::mt19937& random, Inputs inputs, uint32_t round) {
    Wave& w = *wave_;
    w.start(all_lanes);
    for (int r = 0; r < state_rows; ++r) {
      for (uint32_t& lane : w.v[r]) lane = any(random);
      w.define(r, all_lanes);
    }
    for (int r = 0; r < state_scalars; ++r) w.set_scalar(r, any(random));
    w.set_scalar(vcc, random() % 4 ? random() : 0);
    w.set_scalar(exec, inputs == Inputs::all_lanes || random() % 4 == 0 ? all_lanes
                       : random() % 8                                   ? random()
                                                                        : 0);
    w.set_scc(random() % 2);
    for (auto& byte : memory_) byte = static_cast<uint8_t>(random());
    const bool lds = inputs == Inputs::lds_addresses;
    if (lds) group_.lds.reset(memory_bytes);
    for (uint32_t at = 0; lds && at < memory_bytes; at += 4)
      group_.lds.write(at, static_cast<uint32_t>(random()), 4, 0);
    place(random, inputs, round);
    State s;
    std::memcpy(s.v, w.v, sizeof s.v);
    std::memcpy(s.s, w.s, sizeof s.s);
    s.scc = w.scc;
    s.memory_at = reinterpret_cast<uint64_t>(memory_);
    s.memory.assign(memory_, memory_ + memory_bytes);
    for (uint32_t at = 0; lds && at < memory_bytes; ++at)
      s.lds.push_back(static_cast<uint8_t>(group_.lds.read(at, 1, 0)));
    return s;
  }
  Wave& wave() { return *wave_; }
  // What differs from what is expected, or "".
  std::string difference(const State& want, Compare compare) {
    group_.lds.barrier();
    for (int r = 0; r < state_rows; ++r) {
      for (int l = 0; l < lanes; ++l) {
        if (!same(wave_->v[r][l], want.v[r][l], compare))
          return "v" + std::to_string(r) + " lane " + std::to_string(l) + " is " +
                 std::to_string(wave_->v[r][l]) + ", not " + std::to_string(want.v[r][l]);
      }
    }
    for (int r = 0; r < scalar_registers; ++r) {
      const bool known = r < state_scalars || r == vcc || r == exec;
      if (known && !same(wave_->s[r], want.s[r], compare))
        return "s" + std::to_string(r) + " is " + std::to_string(wave_->s[r]) + ", not " +
               std::to_string(want.s[r]);
    }
    if (wave_->scc != want.scc) return "SCC is wrong";
    if (wave_->next != want.next) return "it goes on at another place";
    if (std::memcmp(memory_, want.memory.data(), memory_bytes) != 0) return "the memory differs";
    for (uint32_t at = 0; at < want.lds.size(); ++at) {
      if (group_.lds.read(at, 1, 0) != want.lds[at]) return "the LDS differs at " + std::to_string(at);
    }
    return "";
  }

 private:
  static uint32_t any(std::mt19937& random) {
    return random() % 2 ? static_cast<uint32_t>(random()) : special[random() % std::size(special)];
  }
  // Addresses apart from each other, so that lanes do not meet; bytes in every combination.
  void place(std::mt19937& random, Inputs inputs, uint32_t round) {
    Wave& w = *wave_;
    const uint64_t base = reinterpret_cast<uint64_t>(memory_);
    if (inputs == Inputs::addresses) w.set_scalar64(0, base);
    for (uint32_t l = 0; l < lanes; ++l) {
      const uint32_t at = 64 + 64 * ((l * 5 + round) % 32) + 4 * (static_cast<uint32_t>(random()) % 4);
      if (inputs == Inputs::addresses) {
        w.v[0][l] = static_cast<uint32_t>(base + at);
        w.v[1][l] = static_cast<uint32_t>((base + at) >> 32);
        w.v[2][l] = at;
      } else if (inputs == Inputs::lds_addresses) {
        w.v[4][l] = 64 + 32 * ((l * 5 + round) % 32);
      } else if (inputs == Inputs::exhaustive_bytes) {
        for (uint32_t n = 0; n < 4; ++n) {  // pair number 4 of 65536
          const uint32_t pair = (round * 128 + l * 4 + n) % 65536, shift = 8 * n;
          w.v[0][l] = (w.v[0][l] & ~(255u << shift)) | (pair % 256) << shift;
          w.v[2][l] = (w.v[2][l] & ~(255u << shift)) | (pair / 256) << shift;
        }
      }
    }
    if (inputs == Inputs::all_lanes) {  // matrices of RDNA3 have each row twice
      for (int r = 0; r < 8; ++r) {
        if (w.chip->generation == Generation::rdna3) std::memcpy(w.v[r] + 16, w.v[r], 64);
      }
    }
  }
  static bool same(uint32_t got, uint32_t want, Compare compare) {
    if (got == want) return true;
    if (compare == Compare::bits) return false;
    const auto a = std::bit_cast<float>(got), b = std::bit_cast<float>(want);
    if (std::isnan(a) && std::isnan(b)) return true;
    return compare == Compare::near && std::isfinite(a) && (got + 1 == want || got - 1 == want);
  }

  alignas(64) uint8_t memory_[memory_bytes];
  MemoryMap map_;
  Workgroup group_;
  std::unique_ptr<Wave> wave_;
};

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto list : {integer_cases, real_cases, mask_cases, lane_cases, scalar_cases, memory_cases}) {
    for (Case& c : list()) all.push_back(std::move(c));
  }
  return all;
}

void test_chip(const char* name) {
  const Chip& chip = chip_of(name);
  const std::set<std::string> names = shipped(name);
  std::set<std::string> left = names;
  std::erase_if(left, tested_elsewhere);
  std::vector<std::pair<const Case*, std::string>> chosen;
  const std::vector<Case> cases = all_cases();
  for (const Case& c : cases) {
    for (const std::string& mnemonic : c.names) {
      if (!names.count(mnemonic) || !std::string(name).starts_with(c.only)) continue;
      chosen.emplace_back(&c, mnemonic + " " + c.operands);
      left.erase(mnemonic);
    }
  }
  for (const std::string& mnemonic : left) FAIL_CHECK(name << ": no test has " << mnemonic);
  std::string text;
  for (const auto& [c, line] : chosen) text += line + "\n";
  const std::vector<uint8_t> code = assemble(chip, text);
  const Disassembler disassembler(chip);
  const auto bench = std::make_unique<Bench>(chip);
  std::mt19937 random(seed);
  const uint8_t* at = code.data();
  for (const auto& [c, line] : chosen) {
    size_t bytes = 0;
    Program program;
    Instruction i = decode_text(chip, disassembler.text(at, code.data() + code.size(), bytes), program);
    i.address = reinterpret_cast<uint64_t>(at);
    const uint32_t rounds = c->inputs == Inputs::exhaustive_bytes ? 512 : 96;
    for (uint32_t round = 0; round < rounds; ++round) {
      State want = bench->begin(random, c->inputs, round);
      want.code_at = i.address;
      c->effect(want);
      i.run(bench->wave(), i);
      const std::string difference = bench->difference(want, c->compare);
      INFO(name << ": " << line << ", seed " << seed << ", round " << round);
      CHECK(difference == "");
      if (!difference.empty()) break;
    }
    at += bytes;
  }
  CHECK(at == code.data() + code.size());
}

// v2 / v0 in the steps that compilers make of a division (LLVM, lowering of fdiv).
constexpr char division[] = R"(
v_div_scale_f32 v3, null, v0, v0, v2
v_div_scale_f32 v4, vcc_lo, v2, v0, v2
v_rcp_f32 v5, v3
v_fma_f32 v6, -v3, v5, 1.0
v_fmac_f32 v5, v6, v5
v_mul_f32 v6, v4, v5
v_fma_f32 v7, -v3, v6, v4
v_fmac_f32 v6, v7, v5
v_fma_f32 v3, -v3, v6, v4
v_div_fmas_f32 v3, v3, v5, v6
v_div_fixup_f32 v6, v3, v0, v2
)";

}  // namespace

TEST_CASE("a division is correctly rounded on every chip, whichever neighbour a reciprocal is") {
  for (const char* name : {"gfx1030", "gfx1100", "gfx1151", "gfx1201"}) {
    const Chip& chip = chip_of(name);
    const std::vector<uint8_t> code = assemble(chip, division);
    const Disassembler disassembler(chip);
    Program program;
    std::vector<Instruction> steps;
    for (size_t at = 0, bytes = 0; at < code.size(); at += bytes)
      steps.push_back(
          decode_text(chip, disassembler.text(code.data() + at, code.data() + code.size(), bytes), program));
    const auto bench = std::make_unique<Bench>(chip);
    std::mt19937 random(seed);
    int wrong = 0;
    for (int round = 0; round < 2000; ++round) {
      const State in = bench->begin(random, Inputs::all_lanes, 0);
      for (const Instruction& i : steps) i.run(bench->wave(), i);
      for (int l = 0; l < lanes; ++l) {
        const float a = std::bit_cast<float>(in.v[2][l]), b = std::bit_cast<float>(in.v[0][l]), want = a / b;
        const float got = std::bit_cast<float>(bench->wave().v[6][l]);
        const bool good = std::isnan(want) ? std::isnan(got)
                                           : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want);
        if (good || ++wrong > 3) continue;
        FAIL_CHECK(name << ": " << a << " / " << b << " is " << got << ", not " << want << ", seed " << seed);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("each instruction of gfx1030 does what it should") { test_chip("gfx1030"); }
TEST_CASE("each instruction of gfx1100 does what it should") { test_chip("gfx1100"); }
TEST_CASE("each instruction of gfx1151 does what it should") { test_chip("gfx1151"); }
TEST_CASE("each instruction of gfx1201 does what it should") { test_chip("gfx1201"); }
