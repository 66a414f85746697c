#include "kernels/device/hip.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <unordered_map>

#include "kernels/device/amd_nodes.h"
#include "kernels/device/library.h"
#include "kernels/kernels.h"

namespace lockstep::kernels::gpu {

namespace {

// Own declarations of what is used of HIP (5.2 to 7).
struct Stream;
struct Module;
struct Function;
struct GraphOfCalls;
struct StartedGraph;
struct Event;
constexpr int error_out_of_memory = 2;
constexpr int attribute_multiprocessors = 63;
constexpr unsigned stream_non_blocking = 1;
constexpr int capture_of_this_thread = 1;
constexpr int copy_to_device = 1, copy_to_host = 2, copy_on_device = 3;

struct Hip {
  Library library;
  int (*init)(unsigned);
  const char* (*error_string)(int);
  int (*device_count)(int*);
  int (*device_set)(int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*memory_info)(size_t*, size_t*);
  int (*memory_allocate)(void**, size_t);
  int (*memory_free)(void*);
  int (*memory_set)(void*, int, size_t, Stream*);
  int (*memory_copy)(void*, const void*, size_t, int, Stream*);
  int (*stream_create)(Stream**, unsigned);
  int (*stream_destroy)(Stream*);
  int (*stream_wait)(Stream*);
  int (*module_load)(Module**, const void*);
  int (*module_unload)(Module*);
  int (*module_function)(Function**, Module*, const char*);
  int (*launch)(Function*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream*,
                void**, void**);
  int (*capture_begin)(Stream*, int);
  int (*capture_end)(Stream*, GraphOfCalls**);
  int (*graph_instantiate)(StartedGraph**, GraphOfCalls*, void*, char*, size_t);
  int (*graph_launch)(StartedGraph*, Stream*);
  int (*graph_destroy)(GraphOfCalls*);
  int (*graph_release)(StartedGraph*);
  int (*event_create)(Event**);
  int (*event_record)(Event*, Stream*);
  int (*event_elapsed)(float*, Event*, Event*);
  int (*event_destroy)(Event*);

  bool complete() {
    return library.find("hipInit", init) && library.find("hipGetErrorString", error_string) &&
           library.find("hipGetDeviceCount", device_count) && library.find("hipSetDevice", device_set) &&
           library.find("hipDeviceGetName", device_name) &&
           library.find("hipDeviceGetAttribute", device_attribute) &&
           library.find("hipMemGetInfo", memory_info) && library.find("hipMalloc", memory_allocate) &&
           library.find("hipFree", memory_free) && library.find("hipMemsetAsync", memory_set) &&
           library.find("hipMemcpyAsync", memory_copy) &&
           library.find("hipStreamCreateWithFlags", stream_create) &&
           library.find("hipStreamDestroy", stream_destroy) &&
           library.find("hipStreamSynchronize", stream_wait) &&
           library.find("hipModuleLoadData", module_load) && library.find("hipModuleUnload", module_unload) &&
           library.find("hipModuleGetFunction", module_function) &&
           library.find("hipModuleLaunchKernel", launch) &&
           library.find("hipStreamBeginCapture", capture_begin) &&
           library.find("hipStreamEndCapture", capture_end) &&
           library.find("hipGraphInstantiate", graph_instantiate) &&
           library.find("hipGraphLaunch", graph_launch) && library.find("hipGraphDestroy", graph_destroy) &&
           library.find("hipGraphExecDestroy", graph_release) &&
           library.find("hipEventCreate", event_create) && library.find("hipEventRecord", event_record) &&
           library.find("hipEventElapsedTime", event_elapsed) &&
           library.find("hipEventDestroy", event_destroy);
  }
};

class HipRuntime final : public Runtime {
 public:
  // The object is there to be destroyed whatever this throws.
  void open() {
    if (const std::string problem = kernel_driver_problem("/dev/kfd"); !problem.empty())
      throw DeviceError(problem);
    open_device();
    open_modules();
  }
  ~HipRuntime() override {
    if (!stream_) return;
    hip_.stream_destroy(stream_);
    for (Module* module : modules_) hip_.module_unload(module);
  }

  std::string_view name() const override { return "hip"; }
  std::string_view description() const override { return description_; }
  int multiprocessors() const override { return multiprocessors_; }
  int fewest_rows() const override { return 16; }
  bool copies_ahead() const override { return false; }
  bool has_matrix_unit() const override { return !chip_.starts_with("gfx10"); }

  void* allocate(size_t bytes) override {
    use();
    const size_t wanted = bytes ? bytes : 1;
    void* memory = nullptr;
    const int error = hip_.memory_allocate(&memory, wanted);
    if (error == error_out_of_memory) {
      size_t free = 0, total = 0;
      hip_.memory_info(&free, &total);
      throw OutOfMemory(memory_problem(bytes, free, total));
    }
    check(error, "allocating memory");
    check(hip_.memory_set(memory, 0, wanted, stream_), "clearing memory");
    return memory;
  }
  void release(void* memory) noexcept override {
    hip_.device_set(0);
    hip_.memory_free(memory);
  }
  uint64_t free_memory() override {
    use();
    if (const auto shared = integrated_memory(node_)) return shared->free;
    size_t free = 0, total = 0;
    check(hip_.memory_info(&free, &total), "asking for the memory");
    return free;
  }
  void upload(void* to, const void* host, size_t bytes) override { move(to, host, bytes, copy_to_device); }
  void download(void* host, const void* from, size_t bytes) override {
    move(host, from, bytes, copy_to_host);
    wait();
  }
  void copy(void* to, const void* from, size_t bytes) override { move(to, from, bytes, copy_on_device); }
  void wait() override {
    use();
    check(hip_.stream_wait(stream_), "waiting for the GPU");
  }

  bool has_graphs() const override { return true; }
  void begin_graph() override {
    use();
    check(hip_.capture_begin(stream_, capture_of_this_thread), "beginning a graph");
  }
  std::unique_ptr<Graph> end_graph() override {
    GraphOfCalls* calls = nullptr;
    check(hip_.capture_end(stream_, &calls), "ending a graph");
    StartedGraph* started = nullptr;
    const int error = hip_.graph_instantiate(&started, calls, nullptr, nullptr, 0);
    hip_.graph_destroy(calls);
    check(error, "making a graph");
    return std::make_unique<OwnGraph>(hip_, started);
  }
  void start(const Graph& graph) override {
    use();
    check(hip_.graph_launch(static_cast<const OwnGraph&>(graph).started, stream_), "starting a graph");
  }

  std::unique_ptr<Mark> mark() override {
    use();
    auto mark = std::make_unique<OwnMark>(hip_);
    check(hip_.event_create(&mark->event), "making an event");
    check(hip_.event_record(mark->event, stream_), "recording an event");
    return mark;
  }
  double seconds(const Mark& from, const Mark& to) override {
    use();
    float milliseconds = 0;
    check(hip_.event_elapsed(&milliseconds, static_cast<const OwnMark&>(from).event,
                             static_cast<const OwnMark&>(to).event),
          "timing");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  void launch(const std::string& kernel, Grid blocks, unsigned threads, size_t shared_bytes,
              const void* args) override {
    use();
    void* parameters[] = {const_cast<void*>(args)};
    check(hip_.launch(function(kernel), blocks.x, blocks.y, blocks.z, threads, 1, 1,
                      static_cast<unsigned>(shared_bytes), stream_, parameters, nullptr),
          kernel.c_str());
  }

 private:
  struct OwnGraph final : Graph {
    OwnGraph(const Hip& hip_, StartedGraph* started_) : hip(hip_), started(started_) {}
    ~OwnGraph() override { hip.graph_release(started); }
    const Hip& hip;
    StartedGraph* started;
  };
  struct OwnMark final : Mark {
    explicit OwnMark(const Hip& hip_) : hip(hip_) {}
    ~OwnMark() override {
      if (event) hip.event_destroy(event);
    }
    const Hip& hip;
    Event* event = nullptr;
  };

  void use() { check(hip_.device_set(0), "selecting the GPU"); }
  void check(int error, const char* what) const {
    if (error)
      throw DeviceError("the AMD GPU failed at " + std::string(what) + ": " + hip_.error_string(error));
  }
  void move(void* to, const void* from, size_t bytes, int direction) {
    use();
    if (bytes) check(hip_.memory_copy(to, from, bytes, direction, stream_), "copying memory");
  }

  void open_device() {
    if (!hip_.library.open({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                            "/opt/rocm/lib/libamdhip64.so.7", "/opt/rocm/lib/libamdhip64.so.6",
                            "/opt/rocm/lib/libamdhip64.so"})) {
      throw DeviceError("AMD's HIP runtime is not installed (libamdhip64.so of ROCm 5.2 to 7 is not found)");
    }
    if (!hip_.complete()) throw DeviceError("AMD's HIP runtime is too old: it lacks functions of ROCm 5.2");
    node_ = first_amd_node().value_or(AmdNode{});
    chip_ = node_.chip;
    int count = 0;
    if (hip_.init(0) || hip_.device_count(&count) || count == 0) {
      throw DeviceError(
          "AMD's HIP runtime finds no GPU" +
          (chip_.empty() ? "" : " though the kernel lists " + chip_ + ": it may be too old for it"));
    }
    use();
    check(hip_.stream_create(&stream_, stream_non_blocking), "opening the GPU");
    char chip_name[256] = "";
    size_t free = 0, total = 0;
    hip_.device_name(chip_name, sizeof chip_name, 0);
    hip_.device_attribute(&multiprocessors_, attribute_multiprocessors, 0);
    check(hip_.memory_info(&free, &total), "asking for the memory");
    std::string source;
    if (const auto shared = integrated_memory(node_)) {
      free = shared->free;
      total = shared->total;
      source = " of the " + shared->source;
    }
    description_ = std::string(chip_name) + " (" + chip_ + "), " + std::to_string(multiprocessors_) +
                   " multiprocessors, " + mebibytes(free) + " of " + mebibytes(total) + source + " free";
  }

  void open_modules() {
    const std::vector<CodeObject> objects = code_objects_of(chip_);
    if (objects.empty()) {
      throw DeviceError("this program has no code for the AMD GPU's chip " + chip_ +
                        "; it has code for: " + chips_with_code("gfx"));
    }
    for (const CodeObject& object : objects) {
      Module* module = nullptr;
      const int error = hip_.module_load(&module, object.begin);
      if (error) {
        throw DeviceError("AMD's HIP runtime does not take the code for " + chip_ + ": " +
                          hip_.error_string(error) + "; it may be too old for this chip");
      }
      modules_.push_back(module);
    }
  }

  Function* function(const std::string& kernel) {
    auto found = functions_.find(kernel);
    if (found == functions_.end()) {
      Function* function = nullptr;
      for (Module* module : modules_) {
        if (!function && hip_.module_function(&function, module, kernel.c_str())) function = nullptr;
      }
      if (!function) throw DeviceError("the code for " + chip_ + " has no kernel " + kernel);
      found = functions_.emplace(kernel, function).first;
    }
    return found->second;
  }

  Hip hip_;
  int multiprocessors_ = 0;
  AmdNode node_;
  std::string chip_, description_;
  Stream* stream_ = nullptr;
  std::vector<Module*> modules_;
  std::unordered_map<std::string, Function*> functions_;
};

}  // namespace

std::string kernel_driver_problem(const char* device_file) {
  const std::string file = device_file;
  struct stat state {};
  if (stat(device_file, &state) != 0) {
    return "there is no AMD GPU that computes: " + file + " is missing (is the amdgpu kernel module loaded?)";
  }
  if (access(device_file, R_OK | W_OK) == 0) return "";
  const group* owner = getgrgid(state.st_gid);
  return "this user may not open " + file + "; it belongs to the group '" +
         (owner ? owner->gr_name : std::to_string(state.st_gid)) + "': add the user to that group";
}

std::unique_ptr<Runtime> open_hip() {
  auto hip = std::make_unique<HipRuntime>();
  hip->open();
  return hip;
}

}  // namespace lockstep::kernels::gpu
