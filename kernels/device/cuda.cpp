#include "kernels/device/cuda.h"

#include <string>
#include <unordered_map>

#include "kernels/device/library.h"
#include "kernels/kernels.h"

namespace lockstep::kernels::gpu {

namespace {

// Own declarations of what is used of cuda.h (CUDA 12 and 13).
using Address = unsigned long long;
struct Context;
struct Stream;
struct Module;
struct Function;
struct GraphOfCalls;
struct StartedGraph;
struct Event;
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int number;
  } value;
};
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Stream* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
constexpr int error_no_device = 100, error_out_of_memory = 2, error_no_binary = 209;
constexpr int attribute_major = 75, attribute_minor = 76, attribute_multiprocessors = 16;
constexpr int function_most_shared = 8;
constexpr int launch_may_overlap = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
constexpr unsigned stream_non_blocking = 1;
constexpr int capture_of_this_thread = 1;
constexpr size_t shared_without_asking = 48 << 10;

struct Driver {
  Library library;
  int (*init)(unsigned);
  int (*error_string)(int, const char**);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*context_retain)(Context**, int);
  int (*context_release)(int);
  int (*context_set)(Context*);
  int (*memory_info)(size_t*, size_t*);
  int (*memory_allocate)(Address*, size_t);
  int (*memory_free)(Address);
  int (*memory_set)(Address, unsigned char, size_t, Stream*);
  int (*copy_in)(Address, const void*, size_t, Stream*);
  int (*copy_out)(void*, Address, size_t, Stream*);
  int (*copy_within)(Address, Address, size_t, Stream*);
  int (*stream_create)(Stream**, unsigned);
  int (*stream_destroy)(Stream*);
  int (*stream_wait)(Stream*);
  int (*module_load)(Module**, const void*);
  int (*module_unload)(Module*);
  int (*module_function)(Function**, Module*, const char*);
  int (*function_set)(Function*, int, int);
  int (*launch)(const LaunchConfig*, Function*, void**, void**);
  int (*capture_begin)(Stream*, int);
  int (*capture_end)(Stream*, GraphOfCalls**);
  int (*graph_instantiate)(StartedGraph**, GraphOfCalls*, unsigned long long);
  int (*graph_launch)(StartedGraph*, Stream*);
  int (*graph_destroy)(GraphOfCalls*);
  int (*graph_release)(StartedGraph*);
  int (*event_create)(Event**, unsigned);
  int (*event_record)(Event*, Stream*);
  int (*event_elapsed)(float*, Event*, Event*);
  int (*event_destroy)(Event*);

  bool complete() {
    return library.find("cuInit", init) && library.find("cuGetErrorString", error_string) &&
           library.find("cuDriverGetVersion", driver_version) &&
           library.find("cuDeviceGetCount", device_count) && library.find("cuDeviceGet", device_get) &&
           library.find("cuDeviceGetName", device_name) &&
           library.find("cuDeviceGetAttribute", device_attribute) &&
           library.find("cuDevicePrimaryCtxRetain", context_retain) &&
           library.find("cuDevicePrimaryCtxRelease_v2", context_release) &&
           library.find("cuCtxSetCurrent", context_set) && library.find("cuMemGetInfo_v2", memory_info) &&
           library.find("cuMemAlloc_v2", memory_allocate) && library.find("cuMemFree_v2", memory_free) &&
           library.find("cuMemsetD8Async", memory_set) && library.find("cuMemcpyHtoDAsync_v2", copy_in) &&
           library.find("cuMemcpyDtoHAsync_v2", copy_out) &&
           library.find("cuMemcpyDtoDAsync_v2", copy_within) &&
           library.find("cuStreamCreate", stream_create) &&
           library.find("cuStreamDestroy_v2", stream_destroy) &&
           library.find("cuStreamSynchronize", stream_wait) &&
           library.find("cuModuleLoadData", module_load) && library.find("cuModuleUnload", module_unload) &&
           library.find("cuModuleGetFunction", module_function) &&
           library.find("cuFuncSetAttribute", function_set) && library.find("cuLaunchKernelEx", launch) &&
           library.find("cuStreamBeginCapture_v2", capture_begin) &&
           library.find("cuStreamEndCapture", capture_end) &&
           library.find("cuGraphInstantiateWithFlags", graph_instantiate) &&
           library.find("cuGraphLaunch", graph_launch) && library.find("cuGraphDestroy", graph_destroy) &&
           library.find("cuGraphExecDestroy", graph_release) && library.find("cuEventCreate", event_create) &&
           library.find("cuEventRecord", event_record) && library.find("cuEventElapsedTime", event_elapsed) &&
           library.find("cuEventDestroy_v2", event_destroy);
  }
  std::string text(int error) const {
    const char* words = nullptr;
    error_string(error, &words);
    return words ? words : "error " + std::to_string(error);
  }
};

Address address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }
class Cuda final : public Runtime {
 public:
  // The object is there to be destroyed whatever this throws.
  void open() {
    open_device();
    open_modules();
  }
  ~Cuda() override {
    if (context_) {
      driver_.context_set(context_);
      if (stream_) driver_.stream_destroy(stream_);
      for (Module* module : modules_) driver_.module_unload(module);
      driver_.context_release(device_);
    }
  }

  std::string_view name() const override { return "cuda"; }
  std::string_view description() const override { return description_; }
  int multiprocessors() const override { return multiprocessors_; }
  int fewest_rows() const override { return 4; }

  void* allocate(size_t bytes) override {
    use();
    const size_t wanted = bytes ? bytes : 1;
    Address memory = 0;
    const int error = driver_.memory_allocate(&memory, wanted);
    if (error == error_out_of_memory) {
      size_t free = 0, total = 0;
      driver_.memory_info(&free, &total);
      throw OutOfMemory(memory_problem(bytes, free, total));
    }
    check(error, "allocating memory");
    check(driver_.memory_set(memory, 0, wanted, stream_), "clearing memory");
    return reinterpret_cast<void*>(static_cast<uintptr_t>(memory));
  }
  void release(void* memory) noexcept override {
    driver_.context_set(context_);
    driver_.memory_free(address(memory));
  }
  uint64_t free_memory() override {
    use();
    size_t free = 0, total = 0;
    check(driver_.memory_info(&free, &total), "asking for the memory");
    return free;
  }
  void upload(void* to, const void* host, size_t bytes) override {
    use();
    if (bytes) check(driver_.copy_in(address(to), host, bytes, stream_), "copying to the GPU");
  }
  void download(void* host, const void* from, size_t bytes) override {
    use();
    if (bytes) check(driver_.copy_out(host, address(from), bytes, stream_), "copying from the GPU");
    wait();
  }
  void copy(void* to, const void* from, size_t bytes) override {
    use();
    if (bytes) check(driver_.copy_within(address(to), address(from), bytes, stream_), "copying on the GPU");
  }
  void wait() override {
    use();
    check(driver_.stream_wait(stream_), "waiting for the GPU");
  }

  bool has_graphs() const override { return true; }
  void begin_graph() override {
    use();
    check(driver_.capture_begin(stream_, capture_of_this_thread), "beginning a graph");
  }
  std::unique_ptr<Graph> end_graph() override {
    GraphOfCalls* calls = nullptr;
    check(driver_.capture_end(stream_, &calls), "ending a graph");
    StartedGraph* started = nullptr;
    const int error = driver_.graph_instantiate(&started, calls, 0);
    driver_.graph_destroy(calls);
    check(error, "making a graph");
    return std::make_unique<OwnGraph>(driver_, context_, started);
  }
  void start(const Graph& graph) override {
    use();
    check(driver_.graph_launch(static_cast<const OwnGraph&>(graph).started, stream_), "starting a graph");
  }

  std::unique_ptr<Mark> mark() override {
    use();
    auto mark = std::make_unique<OwnMark>(driver_, context_);
    check(driver_.event_create(&mark->event, 0), "making an event");
    check(driver_.event_record(mark->event, stream_), "recording an event");
    return mark;
  }
  double seconds(const Mark& from, const Mark& to) override {
    use();
    float milliseconds = 0;
    check(driver_.event_elapsed(&milliseconds, static_cast<const OwnMark&>(from).event,
                                static_cast<const OwnMark&>(to).event),
          "timing");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  void launch(const std::string& kernel, Grid blocks, unsigned threads, size_t shared_bytes,
              const void* args) override {
    use();
    LaunchAttribute overlap{};
    overlap.id = launch_may_overlap;
    overlap.value.number = 1;
    const LaunchConfig config{
        blocks.x, blocks.y, blocks.z, threads, 1, 1, static_cast<unsigned>(shared_bytes),
        stream_,  &overlap, 1};
    void* parameters[] = {const_cast<void*>(args)};
    check(driver_.launch(&config, function(kernel, shared_bytes), parameters, nullptr), kernel.c_str());
  }

 private:
  struct OwnGraph final : Graph {
    OwnGraph(const Driver& driver_, Context* context_, StartedGraph* started_)
        : driver(driver_), context(context_), started(started_) {}
    ~OwnGraph() override {
      driver.context_set(context);
      driver.graph_release(started);
    }
    const Driver& driver;
    Context* context;
    StartedGraph* started;
  };
  struct OwnMark final : Mark {
    OwnMark(const Driver& driver_, Context* context_) : driver(driver_), context(context_) {}
    ~OwnMark() override {
      driver.context_set(context);
      if (event) driver.event_destroy(event);
    }
    const Driver& driver;
    Context* context;
    Event* event = nullptr;
  };
  struct Known {
    Function* function;
    size_t shared_bytes;
  };

  void use() { check(driver_.context_set(context_), "selecting the GPU"); }
  void check(int error, const char* what) const {
    if (error)
      throw DeviceError("the NVIDIA GPU failed at " + std::string(what) + ": " + driver_.text(error));
  }

  void open_device() {
    if (!driver_.library.open({"libcuda.so.1"}))
      throw DeviceError("there is no NVIDIA driver on this machine (libcuda.so.1 is not found)");
    if (!driver_.complete())
      throw DeviceError(
          "the NVIDIA driver is too old: it lacks functions of CUDA 12; install a newer driver");
    const int error = driver_.init(0);
    int count = 0;
    if (error == error_no_device || (!error && (driver_.device_count(&count) || count == 0)))
      throw DeviceError("the NVIDIA driver finds no GPU");
    if (error) {
      throw DeviceError("the NVIDIA driver cannot be used: " + driver_.text(error) +
                        "; check that /dev/nvidia0 and /dev/nvidiactl may be opened by this user");
    }
    check(driver_.device_get(&device_, 0), "opening the GPU");
    char chip_name[256] = "";
    driver_.device_name(chip_name, sizeof chip_name, device_);
    int major = 0, minor = 0;
    driver_.device_attribute(&major, attribute_major, device_);
    driver_.device_attribute(&minor, attribute_minor, device_);
    driver_.device_attribute(&multiprocessors_, attribute_multiprocessors, device_);
    chip_ = "sm_" + std::to_string(10 * major + minor);
    check(driver_.context_retain(&context_, device_), "opening the GPU");
    use();
    check(driver_.stream_create(&stream_, stream_non_blocking), "opening the GPU");
    size_t free = 0, total = 0;
    check(driver_.memory_info(&free, &total), "asking for the memory");
    description_ = std::string(chip_name) + " (" + chip_ + "), " + std::to_string(multiprocessors_) +
                   " multiprocessors, " + mebibytes(free) + " of " + mebibytes(total) + " free";
  }

  void open_modules() {
    const std::vector<CodeObject> objects = code_objects_of(chip_);
    if (objects.empty()) {
      throw DeviceError("this program has no code for the NVIDIA GPU's chip " + chip_ +
                        "; it has code for: " + chips_with_code("sm_"));
    }
    for (const CodeObject& object : objects) {
      Module* module = nullptr;
      const int error = driver_.module_load(&module, object.begin);
      if (error == error_no_binary)
        throw DeviceError("the code for " + chip_ + " does not fit the NVIDIA GPU");
      check(error, "loading kernels");
      modules_.push_back(module);
    }
  }

  Function* function(const std::string& kernel, size_t shared_bytes) {
    auto found = functions_.find(kernel);
    if (found == functions_.end()) {
      Function* function = nullptr;
      for (Module* module : modules_) {
        if (!function && driver_.module_function(&function, module, kernel.c_str())) function = nullptr;
      }
      if (!function) throw DeviceError("the code for " + chip_ + " has no kernel " + kernel);
      found = functions_.emplace(kernel, Known{function, shared_without_asking}).first;
    }
    Known& known = found->second;
    if (shared_bytes > known.shared_bytes) {
      check(driver_.function_set(known.function, function_most_shared, static_cast<int>(shared_bytes)),
            "asking for shared memory");
      known.shared_bytes = shared_bytes;
    }
    return known.function;
  }

  Driver driver_;
  int device_ = 0, multiprocessors_ = 0;
  std::string chip_, description_;
  Context* context_ = nullptr;
  Stream* stream_ = nullptr;
  std::vector<Module*> modules_;
  std::unordered_map<std::string, Known> functions_;
};

}  // namespace

std::unique_ptr<Runtime> open_cuda() {
  auto cuda = std::make_unique<Cuda>();
  cuda->open();
  return cuda;
}

}  // namespace lockstep::kernels::gpu
