// The door of kernels/: devices, their memory, and the list of operations (operations.h).
//
// Every operation computes what kernels/canon/ and kernels/reference/ define, bit for bit, on every
// implementation.
//
// Threads: one thread owns a Device and makes every call. Operations run in call order and may still be
// running when the call returns; wait() and download() finish them. No operation allocates device memory.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/canon/math.h"    // exp, log and friends: the sampler uses the same ones
#include "kernels/canon/philox.h"  // the sampler's random numbers
#include "kernels/canon/rotary.h"  // inverse_frequency, for AttentionInputs::inv_freq
#include "kernels/operations.h"

namespace lockstep::kernels {

// The device cannot give the memory that was asked for. what() names how much.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The device failed or is not usable; what() says which and why.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What all launches of one kernel took together; a CPU's kernels are its operations.
struct KernelTime {
  std::string name;
  bool linear;  // it computes linear layers
  uint64_t launches;
  double seconds;
};

// One implementation of the operations on one device.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // "cuda", "hip", "cpu-avx512", "cpu-avx2", "reference"
  virtual std::string_view description()
      const = 0;  // for people: chip, threads, what auto passed over and why

  // Memory is zero-filled and aligned to 64 bytes. Throws OutOfMemory.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Makes a part of memory quick to use for the first time. What it holds stays.
  virtual void prepare(void* /*memory*/, size_t /*bytes*/) {}
  virtual uint64_t free_memory() { return 0; }  // of its own; 0: it takes the machine's
  virtual void upload(void* to, const void* host, size_t bytes) = 0;
  virtual void download(void* host, const void* from, size_t bytes) = 0;  // waits
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void wait() = 0;

  // Does work(), which is a number of run() and copy() calls and nothing else. A GPU keeps those of a key and
  // starts them at once when the key comes again, without work(): so a key must mean the same calls on the
  // same memory.
  virtual void repeat(std::span<const int32_t> /*key*/, const std::function<void()>& work) { work(); }

  // For measurements. While it is on, each kernel is timed and runs beside no other, and repeat() starts
  // nothing that was kept. Turning it on forgets earlier times.
  virtual void time_kernels(bool /*on*/) {}
  // Of what is over since it was turned on, longest first; nothing where kernels are not timed.
  virtual std::vector<KernelTime> kernel_times() const { return {}; }

  virtual std::unique_ptr<Matrix> pack(const MatrixSource&) = 0;
  virtual std::unique_ptr<Matrix> pack_pair(const MatrixSource& gate, const MatrixSource& up) = 0;
  virtual size_t kv_page_bytes(int key_heads, int head_dim) const = 0;

  virtual void run(const Embed&) = 0;
  virtual void run(const Norm&) = 0;
  virtual void run(const Quantize&) = 0;
  virtual void run(const Linear&) = 0;
  virtual void run(const SwiGlu&) = 0;
  virtual void run(const AttentionInputs&) = 0;
  virtual void run(const Attention&) = 0;
  virtual void run(const KvRead&) = 0;
  virtual void run(const Convolution&) = 0;
  virtual void run(const ConvolutionReplay&) = 0;
  virtual void run(const DeltaRule&) = 0;
  virtual void run(const DeltaReplay&) = 0;
  virtual void run(const Router&) = 0;
  virtual void run(const CombineExperts&) = 0;
  virtual void run(const Gather&) = 0;
  virtual void run(const Candidates&) = 0;
};

// Names that open_device() takes on this machine, best first.
std::vector<std::string> implementations();

// name: one of implementations(), or "auto" for the best. threads: 0 means one a CPU that may be used.
// Throws DeviceError naming what is not there and what is.
std::unique_ptr<Device> open_device(std::string_view name, int threads = 0);

// out[i] = exp((x[i] - maximum) / temperature), the canon's, on the calling thread: what tokens are drawn by.
void scaled_exp(std::span<const float> x, float maximum, float temperature, float* out);

// Runs the contract on a device: every operation against the reference, bit for bit, and planted faults.
// Writes a line an operation and a SUMMARY line last. False when anything is not as it must be.
bool self_test(std::ostream& out, std::string_view device, int threads);

// Measures the kernels of a device against the best the machine can do and prints small tables. Takes half a
// minute and 1.3 GB, on a GPU 6 GB. Throws DeviceError for the reference.
void bench_kernels(std::ostream& out, std::string_view device, int threads);

// Bytes a second that a copy within the device's memory reads and writes, of a CPU on all threads. Takes at
// most 4 GB, and half a second. Throws OutOfMemory, DeviceError.
double copy_rate(std::string_view device, int threads);

}  // namespace lockstep::kernels
