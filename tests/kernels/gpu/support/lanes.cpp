#include "tests/kernels/gpu/support/lanes.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/device/lanes.h"
#include "kernels/gpu/layout.h"
#include "kernels/kernels.h"

#ifndef __x86_64__
#error "fibers are written for x86-64"
#endif

// Saves the callee-saved registers and the stack pointer to *from, continues at `to`.
extern "C" void lockstep_switch_fiber(void** from, void* to);
asm(R"(
.text
.globl lockstep_switch_fiber
.type lockstep_switch_fiber, @function
lockstep_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lockstep_switch_fiber, .-lockstep_switch_fiber
)");

namespace lockstep::kernels::gpu::lanes {

namespace {

constexpr int warp = 32;
constexpr size_t stack_bytes = 64 << 10;
constexpr size_t most_shared = gpu::most_shared_bytes;
constexpr size_t shared_guard = 64;

struct Kernel {
  int threads;
  void (*run)(const void*, const void*);
  const void* function;
};
std::map<std::string, Kernel>& kernels() {
  static std::map<std::string, Kernel> all;
  return all;
}

struct Meeting {  // of a warp's or a block's fibers
  int arrived = 0;
  uint64_t generation = 0;
};
struct Fiber {
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
  void* pointer = nullptr;
  const Meeting* waits_for = nullptr;
  uint64_t generation = 0;
  uint64_t posts = 0;
  bool done = false;
};
struct Machine {
  std::vector<Fiber> fibers;
  std::vector<Meeting> warps;
  std::vector<Posted> posted;  // [warps][2][32]
  Meeting block;
  int index[3] = {};
  int current = 0;
  void* scheduler = nullptr;
  const Kernel* kernel = nullptr;
  int threads = 0;
  const void* args = nullptr;
  alignas(64) uint8_t shared[most_shared + shared_guard];
};
Machine& machine() {
  static auto* one = new Machine;  // its fibers may be anywhere when the program ends
  return *one;
}

void to_scheduler() {
  Machine& m = machine();
  lockstep_switch_fiber(&m.fibers[static_cast<size_t>(m.current)].pointer, m.scheduler);
}

void meet(Meeting& meeting, int all) {
  Machine& m = machine();
  if (++meeting.arrived == all) {
    meeting.arrived = 0;
    ++meeting.generation;
    return;
  }
  Fiber& fiber = m.fibers[static_cast<size_t>(m.current)];
  fiber.waits_for = &meeting;
  fiber.generation = meeting.generation;
  to_scheduler();
}

void fiber_main() {
  Machine& m = machine();
  m.kernel->run(m.kernel->function, m.args);
  m.fibers[static_cast<size_t>(m.current)].done = true;
  to_scheduler();
  std::abort();
}

void start(Fiber& fiber) {
  auto top = reinterpret_cast<uintptr_t>(fiber.stack.get() + stack_bytes) / 64 * 64;
  auto* words = reinterpret_cast<uintptr_t*>(top) - 8;  // six registers, the return address, alignment
  std::fill_n(words, 8, uintptr_t{0});
  words[6] = reinterpret_cast<uintptr_t>(&fiber_main);
  fiber.pointer = words;
  fiber.waits_for = nullptr;
  fiber.posts = 0;
  fiber.done = false;
}

void run_block(const std::string& name, size_t shared_bytes) {
  Machine& m = machine();
  const auto threads = static_cast<size_t>(m.threads);
  std::memset(m.shared, 0xff, shared_bytes + shared_guard);
  if (m.fibers.size() < threads) m.fibers.resize(threads);
  m.warps.assign(threads / warp, {});
  m.posted.resize(threads * 2);
  m.block = {};
  for (size_t i = 0; i < threads; ++i) start(m.fibers[i]);
  for (size_t left = threads; left > 0;) {
    bool moved = false;
    for (size_t i = 0; i < threads; ++i) {
      Fiber& fiber = m.fibers[i];
      if (fiber.done || (fiber.waits_for && fiber.waits_for->generation == fiber.generation)) continue;
      fiber.waits_for = nullptr;
      m.current = static_cast<int>(i);
      lockstep_switch_fiber(&m.scheduler, fiber.pointer);
      moved = true;
      if (fiber.done) --left;
    }
    if (!moved) throw DeviceError("kernel " + name + ": some threads wait for others that have ended");
  }
  const uint8_t* guard = m.shared + shared_bytes;
  if (std::any_of(guard, guard + shared_guard, [](uint8_t b) { return b != 0xff; })) {
    throw DeviceError("kernel " + name + " writes past its shared memory");
  }
}

class Lanes final : public Runtime {
 public:
  std::string_view name() const override { return "lanes"; }
  std::string_view description() const override { return "GPU kernels on the host"; }
  int fewest_rows() const override { return 4; }
  int multiprocessors() const override { return 2; }

  void* allocate(size_t bytes) override {
    if (bytes > size_t{1} << 40) throw OutOfMemory("no memory of " + std::to_string(bytes) + " bytes");
    void* memory = std::aligned_alloc(64, bytes / 64 * 64 + 64);
    return std::memset(memory, 0, bytes / 64 * 64 + 64);
  }
  void release(void* memory) noexcept override { std::free(memory); }
  uint64_t free_memory() override { return 0; }
  void upload(void* to, const void* host, size_t bytes) override {
    if (bytes) std::memcpy(to, host, bytes);
  }
  void download(void* host, const void* from, size_t bytes) override {
    if (bytes) std::memcpy(host, from, bytes);
  }
  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes) std::memcpy(to, from, bytes);
  }
  void wait() override {}

  std::unique_ptr<Mark> mark() override { return std::make_unique<Moment>(); }
  double seconds(const Mark& from, const Mark& to) override {
    return std::chrono::duration<double>(static_cast<const Moment&>(to).time -
                                         static_cast<const Moment&>(from).time)
        .count();
  }

  void launch(const std::string& kernel, Grid blocks, unsigned threads, size_t shared_bytes,
              const void* args) override {
    const auto found = kernels().find(kernel);
    if (found == kernels().end()) throw DeviceError("there is no kernel " + kernel);
    if (found->second.threads < static_cast<int>(threads)) throw DeviceError(kernel + ": too many threads");
    if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) throw DeviceError(kernel + ": an empty grid");
    if (shared_bytes > most_shared) throw DeviceError(kernel + ": too much shared memory");
    Machine& m = machine();
    m.kernel = &found->second;
    m.threads = static_cast<int>(threads);
    m.args = args;
    for (unsigned z = 0; z < blocks.z; ++z) {
      for (unsigned y = 0; y < blocks.y; ++y) {
        for (unsigned x = 0; x < blocks.x; ++x) {
          m.index[0] = static_cast<int>(x);
          m.index[1] = static_cast<int>(y);
          m.index[2] = static_cast<int>(z);
          run_block(kernel, shared_bytes);
        }
      }
    }
  }

 private:
  struct Moment final : Mark {
    const std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
  };
};

}  // namespace

int thread_index() { return machine().current; }
int block(int axis) { return machine().index[axis]; }
uint8_t* shared_memory() { return machine().shared; }
void block_barrier() { meet(machine().block, machine().threads); }
void warp_barrier() { meet(machine().warps[static_cast<size_t>(machine().current / warp)], warp); }

const Posted* post(const uint32_t* words, int n) {
  Machine& m = machine();
  const auto current = static_cast<size_t>(m.current);
  Fiber& fiber = m.fibers[current];
  Posted* all = &m.posted[(current / warp * 2 + fiber.posts++ % 2) * warp];
  std::copy_n(words, n, all[current % warp].word);
  warp_barrier();
  return all;
}

void know(const char* name, int threads, void (*run)(const void*, const void*), const void* kernel) {
  kernels()[name] = {threads, run, kernel};
}

}  // namespace lockstep::kernels::gpu::lanes

namespace lockstep::kernels::gpu {

std::unique_ptr<Runtime> open_lanes() { return std::make_unique<lanes::Lanes>(); }

}  // namespace lockstep::kernels::gpu
