#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/rdna/workgroup.h"

namespace lockstep::rdna {

namespace {

// What an instruction reads must have been written, and loads that it reads or overwrites must have come.
void check_registers(const Wave& w, const Instruction& i) {
  if (!i.needs.within(w.full)) {
    const uint32_t mask = i.whole ? all_lanes : w.active();
    for (int r = 0; r < spare; ++r) {
      if (i.needs.has_vector(r) && mask & ~w.defined[r])
        throw Fault("reads v" + std::to_string(r) + ", which nobody wrote");
    }
    for (int r = 0; r < scalar_registers; ++r) {
      if (i.needs.has_scalar(r) && !w.full.has_scalar(r)) {
        throw Fault(r == scc_place ? "reads SCC, which nobody wrote"
                                   : "reads s" + std::to_string(r) + ", which nobody wrote");
      }
    }
  }
  const bool load = i.kind == static_cast<int>(Kind::load);
  if (i.reads.meets(w.awaited)) throw Fault("reads a register whose load no wait has covered");
  if (!load && i.writes.meets(w.awaited)) throw Fault("overwrites a register whose load no wait has covered");
}

bool step(Wave& w, const Program& program) {
  if (w.next < 0 || w.next >= static_cast<int>(program.code.size()))
    throw Fault("runs past the end of its code");
  const Instruction& i = program.code[static_cast<size_t>(w.next)];
  ++w.next;
  ++w.executed;
  check_registers(w, i);
  i.run(w, i);
  return !w.ended && !w.at_barrier;
}

// Until it ends or waits at a barrier.
void run_wave(Wave& w, const Program& program, const uint32_t* block) {
  int at = w.next;
  try {
    do at = w.next;
    while (step(w, program));
  } catch (const Fault& fault) {
    const auto n = static_cast<size_t>(at);
    const bool inside = n < program.code.size();
    char place[160];
    std::snprintf(place, sizeof place,
                  "%s+0x%llx, workgroup %u %u %u, wave %d: ", program.kernel.name.c_str(),
                  inside ? static_cast<unsigned long long>(program.code[n].address -
                                                           reinterpret_cast<uint64_t>(program.kernel.begin))
                         : 0ull,
                  block[0], block[1], block[2], w.index);
    throw Fault(place + (inside ? program.texts[n] + ": " : std::string()) + fault.what());
  }
}

// Waves meet at one barrier; one that ended, or stands at another, is missed (RDNA3 ISA 4.5: a barrier does
// not tell them apart, so a kernel must not).
void meet(Workgroup& group, const Program& program) {
  const Wave& first = *group.waves.front();
  for (const auto& wave : group.waves) {
    if (wave->ended == first.ended && (wave->ended || wave->next == first.next)) continue;
    throw Fault(program.kernel.name + ": waves 0 and " + std::to_string(wave->index) +
                " of a workgroup do not meet at the same barrier");
  }
  for (const auto& wave : group.waves) wave->at_barrier = false;
  group.lds.barrier();
}

// Registers as a wave finds them (LLVM, "User Guide for AMDGPU Backend", Initial Kernel Execution State).
void start_wave(Wave& w, const Launch& launch, const uint32_t* block) {
  const Program& program = *launch.program;
  const uint32_t first = static_cast<uint32_t>(w.index) * lanes;
  const uint32_t count = std::min<uint32_t>(lanes, launch.threads - first);
  w.chip = program.chip;
  w.memory = launch.memory;
  w.start(count == lanes ? all_lanes : (1u << count) - 1);
  for (int l = 0; l < lanes; ++l) w.v[0][l] = first + static_cast<uint32_t>(l);
  w.define(0, all_lanes);
  w.set_scalar64(program.kernel.argument_register, reinterpret_cast<uint64_t>(launch.arguments));
  if (w.chip->generation == Generation::rdna4) {
    w.set_scalar(first_ttmp + 9, block[0]);
    w.set_scalar(first_ttmp + 7, block[1] | block[2] << 16);
    return;
  }
  int next = program.kernel.user_registers;
  for (int axis = 0; axis < 3; ++axis) {
    if (program.kernel.workgroup_id[axis]) w.set_scalar(next++, block[axis]);
  }
}

void run_workgroup(Workgroup& group, const Launch& launch, const uint32_t* block) {
  const Program& program = *launch.program;
  const size_t waves = (launch.threads + lanes - 1) / lanes;
  while (group.waves.size() < waves) group.waves.push_back(std::make_unique<Wave>());
  group.waves.resize(waves);
  group.lds.reset(program.kernel.lds_bytes + launch.lds_bytes);
  for (size_t n = 0; n < waves; ++n) {
    Wave& w = *group.waves[n];
    w.index = static_cast<int>(n);
    w.group = &group;
    start_wave(w, launch, block);
  }
  while (!group.waves.front()->ended) {
    for (const auto& wave : group.waves) run_wave(*wave, program, block);
    meet(group, program);
  }
}

}  // namespace

uint64_t run(const Launch& launch, int threads) {
  const uint64_t count = uint64_t{launch.blocks[0]} * launch.blocks[1] * launch.blocks[2];
  std::atomic<uint64_t> next = 0, executed = 0;
  std::mutex mutex;
  std::exception_ptr fault;
  const auto work = [&] {
    Workgroup group;
    uint64_t own = 0;
    try {
      for (uint64_t n = next++; n < count; n = next++) {
        const uint32_t block[3] = {static_cast<uint32_t>(n % launch.blocks[0]),
                                   static_cast<uint32_t>(n / launch.blocks[0] % launch.blocks[1]),
                                   static_cast<uint32_t>(n / launch.blocks[0] / launch.blocks[1])};
        run_workgroup(group, launch, block);
        for (const auto& wave : group.waves) own += std::exchange(wave->executed, 0);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!fault) fault = std::current_exception();
      next = count;
    }
    executed += own;
  };
  std::vector<std::thread> others;
  const auto most = std::min<uint64_t>(count, static_cast<uint64_t>(threads));
  for (uint64_t n = 1; n < most; ++n) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (fault) std::rethrow_exception(fault);
  return executed;
}

}  // namespace lockstep::rdna
