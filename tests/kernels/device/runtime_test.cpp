// What is said when there is no GPU that can be used, and allocations that fail.
#include "kernels/device/runtime.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

#include "kernels/device/cuda.h"
#include "kernels/device/hip.h"
#include "kernels/gpu/gpu_device.h"
#include "tests/catch.h"
#include "tests/kernels/gpu/support/lanes.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::kernels;

namespace {

// While it lives, the fake is this process's libcuda.so.1.
class FakeCuda {
 public:
  explicit FakeCuda(const char* behaviour)
      : library_(dlopen(LOCKSTEP_BINARY_DIR "/tests/libfake_cuda.so", RTLD_NOW)) {
    REQUIRE(library_);
    setenv("FAKE_CUDA", behaviour, 1);
  }
  ~FakeCuda() { dlclose(library_); }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

 private:
  void* library_;
};

std::string problem_of_cuda(const char* behaviour) {
  const FakeCuda fake(behaviour);
  try {
    gpu::open_cuda();
    return "";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Fails the n-th allocation and all after it, and counts what is given back.
class Failing final : public gpu::Runtime {
 public:
  Failing(int good, std::set<void*>& held) : good_(good), held_(held) {}
  std::string_view name() const override { return inner_->name(); }
  std::string_view description() const override { return inner_->description(); }
  int fewest_rows() const override { return inner_->fewest_rows(); }
  void* allocate(size_t bytes) override {
    if (good_-- <= 0) throw OutOfMemory("planted");
    return *held_.insert(inner_->allocate(bytes)).first;
  }
  void release(void* memory) noexcept override {
    held_.erase(memory);
    inner_->release(memory);
  }
  uint64_t free_memory() override { return inner_->free_memory(); }
  void upload(void* to, const void* host, size_t bytes) override { inner_->upload(to, host, bytes); }
  void download(void* host, const void* from, size_t bytes) override { inner_->download(host, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override { inner_->copy(to, from, bytes); }
  void wait() override { inner_->wait(); }
  std::unique_ptr<Mark> mark() override { return inner_->mark(); }
  double seconds(const Mark& from, const Mark& to) override { return inner_->seconds(from, to); }
  void launch(const std::string& kernel, gpu::Grid blocks, unsigned threads, size_t shared_bytes,
              const void* args) override {
    inner_->launch(kernel, blocks, threads, shared_bytes, args);
  }

 private:
  int good_;
  std::set<void*>& held_;
  std::unique_ptr<gpu::Runtime> inner_ = gpu::open_lanes();
};

// A device, a matrix, rows, and one linear layer; true when it came to its end.
bool serve(int good_allocations, std::set<void*>& held) {
  try {
    gpu::GpuDevice device(std::make_unique<Failing>(good_allocations, held));
    const std::vector<uint8_t> codes(32 * 64 / 2, 0x21);
    const std::vector<uint16_t> scales(32, 0x3f80);
    const auto matrix =
        device.pack({1, 32, 64, 4, 64, ScaleType::bf16, codes.data(), scales.data(), scales.data()});
    struct Memory {
      gpu::GpuDevice& device;
      void* data = device.allocate(4096);
      ~Memory() { device.release(data); }
    };
    const Memory x{device}, blocks{device}, y{device};
    auto* bytes = static_cast<int8_t*>(blocks.data);
    const Blocks in{bytes,
                    bytes + 1024,
                    reinterpret_cast<float*>(bytes + 2048),
                    reinterpret_cast<float*>(bytes + 3072),
                    64,
                    64};
    const LinearOutput output{matrix.get(), static_cast<float*>(y.data), 32};
    device.run(Quantize{1, static_cast<const float*>(x.data), in});
    device.run(Linear{1, in, nullptr, {&output, 1}, nullptr, 1});
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }
}

}  // namespace

TEST_CASE(
    "F78 a driver without a GPU, a driver that fails, and a chip without code are each said in one line") {
  CHECK(problem_of_cuda("no-device") == "the NVIDIA driver finds no GPU");
  const std::string broken = problem_of_cuda("broken");
  CHECK(has(broken, "cannot be used: unknown error"));
  CHECK(has(broken, "/dev/nvidia0"));
  const std::string chip = problem_of_cuda("chip");
  CHECK(has(chip, "no code for the NVIDIA GPU's chip sm_770; it has code for: "));
}

TEST_CASE("F78 a device file that is missing or closed to the user is named with its group") {
  const lockstep::tools::TemporaryDirectory directory;
  const std::string file = directory.path() / "kfd";
  CHECK(has(gpu::kernel_driver_problem(file.c_str()), file + " is missing"));
  REQUIRE(fclose(fopen(file.c_str(), "w")) == 0);
  CHECK(gpu::kernel_driver_problem(file.c_str()).empty());
  REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
  REQUIRE(chmod(file.c_str(), 0) == 0);
  const pid_t child = fork();
  if (child == 0) {  // root may open everything
    if (getuid() == 0 && setuid(65534) != 0) _exit(2);
    const std::string text = gpu::kernel_driver_problem(file.c_str());
    _exit(has(text, "may not open " + file) && has(text, "add the user to that group") ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("F78 auto says what it passed over and why") {
  const FakeCuda fake("no-device");
  const auto device = open_device("auto", 1);
  CHECK(has(std::string(device->description()), "not cuda: the NVIDIA driver finds no GPU"));
  CHECK_THROWS_AS(open_device("cuda"), DeviceError);
}

TEST_CASE(
    "F80 whichever allocation of a GPU fails, everything is given back, and operations allocate nothing") {
  int good = 0;
  std::set<void*> held;
  while (!serve(good, held)) {
    CHECK(held.empty());
    ++good;
  }
  CHECK(good == 5);  // the device's scratch, the matrix, three arrays: an operation would be the sixth
  CHECK(held.empty());
}
