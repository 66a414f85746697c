// Faults planted into the code objects that ship, one instruction at a time: the checks must see each, or the
// results must tell.
#include <cstring>
#include <functional>
#include <random>

#include "kernels/device/runtime.h"
#include "kernels/gpu/args.h"
#include "tests/catch.h"
#include "tests/rdna/workgroup.h"

using namespace lockstep::rdna;

namespace {

constexpr const char* chips[] = {"gfx1030", "gfx1100", "gfx1151", "gfx1201"};
constexpr int rows = 2, length = 1024;
constexpr uint32_t no_operation = 0xbf800000;  // s_nop 0 on every chip

// Ends the run; a wait that has nothing to wait for does not count.
void trip(Wave& w, const Instruction& i) {
  bool nothing = i.kind == static_cast<int>(Kind::wait);
  for (int c = 0; c < counters; ++c) nothing = nothing && (w.pending[c].empty() || !(i.immediate >> c & 1));
  if (!nothing) throw Fault("the wire");
}

// The norm of two rows: it uses the LDS, barriers, DPP, loads and stores.
struct Norm {
  explicit Norm(const char* name) : chip(chip_of(name)), disassembler(chip) {
    for (const auto& source : lockstep::kernels::gpu::code_objects_of(name)) {
      if (std::string(source.source) != "rows") continue;
      object = std::make_unique<lockstep::rdna::CodeObject>(source.begin);
      for (const Kernel& k : object->kernels()) {
        if (k.name == "rms_norm") kernel = &k;
      }
    }
    REQUIRE(kernel);
    std::mt19937 random(3);
    for (int i = 0; i < rows * length; ++i) x.push_back(static_cast<float>(random() % 20001) / 8 - 1250);
    add = std::vector<float>(x.rbegin(), x.rend());
    for (int i = 0; i < length; ++i) weight.push_back(1.0f + static_cast<float>(i % 5));
  }

  // The results one after the other, and what was said. `tripwire` is an instruction that ends the run.
  std::string run_it(std::vector<float>& out, int tripwire = -1) const {
    Program program = decode(chip, *kernel, disassembler);
    if (tripwire >= 0) program.code[static_cast<size_t>(tripwire)].run = trip;
    constexpr int group = 64, blocks = rows * length / group;
    std::vector<float> input = x;
    std::vector<int8_t> high(x.size()), low(x.size());
    out.assign(x.size() + 2 * blocks, 0);
    float* block_numbers = out.data() + x.size();
    lockstep::kernels::gpu::NormArgs args{};
    args.length = args.out_stride = length;
    args.eps = 1e-6f;
    args.x = input.data();
    args.add = add.data();
    args.blocks = {high.data(), low.data(), block_numbers, block_numbers + blocks, length, group};
    args.weight = weight.data();
    args.out = out.data();
    MemoryMap map;
    map.add(input.data(), input.size() * 4, true, true);
    map.add(add.data(), add.size() * 4, false, true);
    map.add(high.data(), high.size(), true, false);
    map.add(low.data(), low.size(), true, false);
    map.add(weight.data(), weight.size() * 4, false, true);
    map.add(out.data(), out.size() * 4, true, false);
    map.add(object->begin(), object->bytes(), false, true);
    map.add(&args, sizeof args, false, true);
    try {
      run(Launch{&program, &map, {rows, 1, 1}, kernel->most_threads, (length + 1) * 4, &args}, 1);
      for (const auto& bytes : {high, low}) out.insert(out.end(), bytes.begin(), bytes.end());
      return "";
    } catch (const Fault& fault) {
      return fault.what();
    }
  }

  // Changes each instruction that runs and that `change` takes, one at a time; it gives false for others.
  // Gives how many were changed, how many of them the checks refused, and how many went unseen by them and by
  // the results.
  struct Count {
    int planted = 0, refused = 0, unseen = 0;
  };
  Count plant(const std::function<bool(const std::string&, uint32_t*)>& change) const {
    std::vector<float> want, got;
    REQUIRE(run_it(want).empty());
    const Program program = decode(chip, *kernel, disassembler);
    Count count;
    for (size_t n = 0; n < program.code.size(); ++n) {
      auto* words = reinterpret_cast<uint32_t*>(program.code[n].address);
      uint32_t before[3];
      std::memcpy(before, words, sizeof before);
      if (!change(program.texts[n], words)) continue;
      if (run_it(got, static_cast<int>(n)).empty()) {  // it does not run
        std::memcpy(words, before, sizeof before);
        continue;
      }
      const std::string fault = run_it(got);
      std::memcpy(words, before, sizeof before);
      ++count.planted;
      count.refused += !fault.empty();
      count.unseen += fault.empty() && got == want;
    }
    return count;
  }

  const Chip& chip;
  Disassembler disassembler;
  std::unique_ptr<lockstep::rdna::CodeObject> object;
  const Kernel* kernel = nullptr;
  std::vector<float> x, add, weight;
};

bool replace(const std::string& text, const char* start, uint32_t* words) {
  if (!text.starts_with(start)) return false;
  *words = no_operation;
  return true;
}

}  // namespace

TEST_CASE("barriers that are taken out of a shipped kernel are missed") {
  for (const char* chip : chips) {
    const auto count = Norm(chip).plant(
        [](const std::string& text, uint32_t* words) { return replace(text, "s_barrier", words); });
    INFO(chip << ": " << count.planted << " planted, " << count.refused << " refused");
    CHECK(count.planted > 0);
    CHECK(count.refused == count.planted);
  }
}

TEST_CASE("waits that are taken out of a shipped kernel are missed") {
  for (const char* chip : chips) {
    const auto count = Norm(chip).plant([](const std::string& text, uint32_t* words) {
      return text.find("depctr") == std::string::npos && text.find("vscnt") == std::string::npos &&
             text.find("storecnt") == std::string::npos && replace(text, "s_wait", words);
    });
    INFO(chip << ": " << count.planted << " planted, " << count.refused << " refused");
    CHECK(count.planted > 0);
    // LLVM also waits where another wait follows before the use: such a one is missed by nobody.
    CHECK(count.refused * 4 >= count.planted * 3);
  }
}

TEST_CASE("a wrong DPP mask in a shipped kernel is seen") {
  for (const char* chip : chips) {
    const auto count = Norm(chip).plant([](const std::string& text, uint32_t* words) {
      if (text.find("row_mask:0xf") == std::string::npos) return false;
      words[1] &= 0x0fffffff;  // neither row writes
      return true;
    });
    INFO(chip << ": " << count.planted << " planted, " << count.refused << " refused");
    CHECK(count.planted > 0);
    CHECK(count.unseen <= 3);  // one sum, of three steps, is of numbers that are all 0 here
  }
}
