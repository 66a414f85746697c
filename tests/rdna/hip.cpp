// The part of AMD's HIP runtime that lockstepd uses (kernels/device/hip.cpp), over the emulator: loaded in
// the place of libamdhip64.so.6. LOCKSTEP_RDNA_CHIP names the chip; without it there is no GPU.
// LOCKSTEP_RDNA_THREADS says how many threads run workgroups (all that the machine has). Launches are done
// when they return.
//
// Threads: one at a time, as lockstepd calls it.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/rdna/code_object.h"
#include "tests/rdna/program.h"
#include "tests/rdna/workgroup.h"

namespace lockstep::rdna {

namespace {

// hipError_t
enum Error {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_image = 200,
  not_found = 500,
  launch_failure = 719
};

using Clock = std::chrono::steady_clock;
constexpr size_t device_bytes = size_t{16} << 30;

struct Function {
  const Kernel* kernel;
  std::unique_ptr<Program> program;  // decoded when it is first launched
};

struct Module {
  explicit Module(const void* file) : object(file) {}
  CodeObject object;
  std::map<std::string, Function> functions;
};

using Graph = std::vector<std::function<int()>>;  // what is done when it is launched, in order

struct Runtime {
  const Chip* chip = nullptr;
  std::unique_ptr<Disassembler> disassembler;
  MemoryMap memory;
  std::unordered_map<void*, size_t> allocations;
  size_t used = 0;
  int threads = 1;
  uint64_t executed = 0;
  std::string message;  // of the last fault
  bool capturing = false;
  Graph captured;
};

Runtime& runtime() {
  static Runtime* const one = new Runtime;  // outlives whoever calls at exit
  return *one;
}

int failed(Error error, const std::string& message) {
  runtime().message = message;
  return error;
}

// Does it, or keeps it for the graph that is being captured.
int perform(std::function<int()> call) {
  Runtime& r = runtime();
  if (!r.capturing) return call();
  r.captured.push_back(std::move(call));
  return success;
}

Program& program_of(Function& function) {
  Runtime& r = runtime();
  if (!function.program)
    function.program = std::make_unique<Program>(decode(*r.chip, *function.kernel, *r.disassembler));
  return *function.program;
}

}  // namespace

extern "C" {

int hipInit(unsigned) {
  Runtime& r = runtime();
  const char* name = std::getenv("LOCKSTEP_RDNA_CHIP");
  if (!name) return no_device;
  try {
    r.chip = &chip_of(name);
    r.disassembler = std::make_unique<Disassembler>(*r.chip);
  } catch (const std::exception& error) {
    return failed(no_device, error.what());
  }
  const char* threads = std::getenv("LOCKSTEP_RDNA_THREADS");
  r.threads =
      threads ? std::max(1, std::atoi(threads)) : static_cast<int>(std::thread::hardware_concurrency());
  return success;
}

const char* hipGetErrorString(int) { return runtime().message.c_str(); }

int hipGetDeviceCount(int* count) {
  *count = runtime().chip ? 1 : 0;
  return success;
}
int hipSetDevice(int) { return success; }

int hipDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<size_t>(bytes), "emulated %s", runtime().chip->product);
  return success;
}
int hipDeviceGetAttribute(int* value, int, int) {
  *value = runtime().chip->compute_units;
  return success;
}
int hipMemGetInfo(size_t* free, size_t* total) {
  *total = device_bytes;
  *free = device_bytes - runtime().used;
  return success;
}

int hipMalloc(void** memory, size_t bytes) {
  Runtime& r = runtime();
  const size_t whole = (bytes + 255) / 256 * 256;
  if (whole < bytes || r.used + whole > device_bytes) return failed(out_of_memory, "out of memory");
  constexpr size_t gap = 256;  // nobody's bytes between allocations
  void* p = std::aligned_alloc(256, whole + gap);
  if (!p) return failed(out_of_memory, "out of memory");
  r.memory.add(p, bytes, true, false);
  r.allocations[p] = whole;
  r.used += whole;
  *memory = p;
  return success;
}
int hipFree(void* memory) {
  Runtime& r = runtime();
  const auto found = r.allocations.find(memory);
  if (found == r.allocations.end()) return memory ? failed(invalid_value, "this memory is not allocated") : 0;
  r.used -= found->second;
  r.allocations.erase(found);
  r.memory.remove(memory);
  std::free(memory);
  return success;
}
int hipMemsetAsync(void* memory, int value, size_t bytes, void*) {
  std::memset(memory, value, bytes);
  runtime().memory.host_wrote(memory, bytes);
  return success;
}
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  return perform([=] {
    std::memmove(to, from, bytes);
    runtime().memory.host_wrote(to, bytes);
    return int{success};
  });
}

int hipStreamCreateWithFlags(void** stream, unsigned) {
  *stream = &runtime();
  return success;
}
int hipStreamDestroy(void*) { return success; }
int hipStreamSynchronize(void*) { return success; }

int hipModuleLoadData(void** module, const void* file) {
  Runtime& r = runtime();
  try {
    auto loaded = std::make_unique<Module>(file);
    for (const Kernel& kernel : loaded->object.kernels()) loaded->functions[kernel.name].kernel = &kernel;
    r.memory.add(loaded->object.begin(), loaded->object.bytes(), false, true);
    *module = loaded.release();
    return success;
  } catch (const std::exception& error) {
    return failed(invalid_image, error.what());
  }
}
int hipModuleUnload(void* module) {
  auto* m = static_cast<Module*>(module);
  runtime().memory.remove(m->object.begin());
  delete m;
  return success;
}
int hipModuleGetFunction(void** function, void* module, const char* name) {
  auto& functions = static_cast<Module*>(module)->functions;
  const auto found = functions.find(name);
  if (found == functions.end()) return failed(not_found, "there is no kernel " + std::string(name));
  *function = &found->second;
  return success;
}

// The kernels take one struct each: the first parameter has all bytes of the arguments.
int hipModuleLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads,
                          unsigned threads_y, unsigned threads_z, unsigned lds_bytes, void*,
                          void** parameters, void**) {
  Runtime& r = runtime();
  if (threads_y != 1 || threads_z != 1 || threads == 0 || threads > 1024)
    return failed(invalid_value, "the emulator runs workgroups of 1 to 1024 work-items in one dimension");
  try {
    const Program& program = program_of(*static_cast<Function*>(function));
    const size_t bytes = program.kernel.argument_bytes;
    const std::shared_ptr<uint64_t[]> arguments(new uint64_t[bytes / 8 + 1]);
    std::memcpy(arguments.get(), parameters[0], bytes);
    return perform([=, &r, &program] {
      try {
        r.memory.add(arguments.get(), bytes, false, true);
        const Launch launch{&program, &r.memory, {x, y, z}, threads, lds_bytes, arguments.get()};
        r.executed += run(launch, r.threads);
      } catch (const std::exception& error) {
        r.memory.remove(arguments.get());
        return failed(launch_failure, error.what());
      }
      r.memory.remove(arguments.get());
      return int{success};
    });
  } catch (const std::exception& error) {
    return failed(launch_failure, error.what());
  }
}

int hipStreamBeginCapture(void*, int) {
  runtime().capturing = true;
  return success;
}
int hipStreamEndCapture(void*, void** graph) {
  Runtime& r = runtime();
  r.capturing = false;
  *graph = new Graph(std::move(r.captured));
  r.captured.clear();
  return success;
}
int hipGraphInstantiate(void** started, void* graph, void*, char*, size_t) {
  *started = new Graph(*static_cast<Graph*>(graph));
  return success;
}
int hipGraphLaunch(void* started, void*) {
  for (const auto& call : *static_cast<Graph*>(started)) {
    if (const int error = call()) return error;
  }
  return success;
}
int hipGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return success;
}
int hipGraphExecDestroy(void* started) { return hipGraphDestroy(started); }

int hipEventCreate(void** event) {
  *event = new Clock::time_point;
  return success;
}
int hipEventRecord(void* event, void*) {
  *static_cast<Clock::time_point*>(event) = Clock::now();
  return success;
}
int hipEventElapsedTime(float* milliseconds, void* from, void* to) {
  const auto time = *static_cast<Clock::time_point*>(to) - *static_cast<Clock::time_point*>(from);
  *milliseconds = std::chrono::duration<float, std::milli>(time).count();
  return success;
}
int hipEventDestroy(void* event) {
  delete static_cast<Clock::time_point*>(event);
  return success;
}

}  // extern "C"

// How many instructions of waves this process ran, for measurements.
__attribute__((destructor)) void report() {
  if (std::getenv("LOCKSTEP_RDNA_COUNT"))
    std::fprintf(stderr, "emulated %llu wave instructions\n",
                 static_cast<unsigned long long>(runtime().executed));
}

}  // namespace lockstep::rdna
