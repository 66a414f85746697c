// Times of kernels: every launch between two marks, by name.
#include "kernels/device/kernel_totals.h"
#include "kernels/gpu/gpu_device.h"
#include "tests/catch.h"
#include "tests/kernels/gpu/support/lanes.h"

using namespace lockstep::kernels;

namespace {

void check_times(Device& device) {
  const std::vector<uint8_t> codes(32 * 64 / 2, 0x21);
  const std::vector<uint16_t> scales(32, 0x3f80);
  const auto matrix =
      device.pack({1, 32, 64, 4, 64, ScaleType::bf16, codes.data(), scales.data(), scales.data()});
  void* memory = device.allocate(1 << 14);
  auto* bytes = static_cast<int8_t*>(memory);
  auto* x = reinterpret_cast<float*>(bytes);
  const Blocks in{bytes + 1024,
                  bytes + 2048,
                  reinterpret_cast<float*>(bytes + 3072),
                  reinterpret_cast<float*>(bytes + 4096),
                  64,
                  64};
  const LinearOutput output{matrix.get(), reinterpret_cast<float*>(bytes + 8192), 32};
  int worked = 0;
  const int32_t key = 7;
  const auto work = [&] {
    device.repeat({&key, 1}, [&] {
      ++worked;
      device.run(Quantize{1, x, in});
      device.run(Linear{1, in, nullptr, {&output, 1}, nullptr, 1});
    });
  };
  work();
  device.wait();
  CHECK(device.kernel_times().empty());
  device.time_kernels(true);
  for (int i = 0; i < 3; ++i) work();
  device.wait();
  const std::vector<KernelTime> times = device.kernel_times();
  CHECK(worked == 4);
  REQUIRE(times.size() == 2);
  CHECK(times[0].seconds >= times[1].seconds);
  for (const KernelTime& one : times) {
    INFO(one.name);
    CHECK(one.launches == 3);
    CHECK(one.seconds > 0);
    CHECK(one.linear == one.name.starts_with("linear"));
    CHECK(one.linear == (one.name != "quantize"));
  }
  device.time_kernels(true);
  CHECK(device.kernel_times().empty());
  device.time_kernels(false);
  work();
  device.wait();
  CHECK(device.kernel_times().empty());
  device.release(memory);
}

}  // namespace

TEST_CASE("kernels are timed by name while it is wanted, on a GPU and on a CPU") {
  gpu::GpuDevice gpu(gpu::open_lanes());
  check_times(gpu);
  check_times(*open_device("cpu-avx2", 2));
}

TEST_CASE("the longest kernel comes first, and SwiGLU counts as a linear layer") {
  KernelTotals totals;
  totals.add("rms_norm", 1);
  totals.add("swiglu_4_64_8", 3);
  totals.add("rms_norm", 1);
  const std::vector<KernelTime> times = totals.list();
  REQUIRE(times.size() == 2);
  CHECK(times[0].name == "swiglu_4_64_8");
  CHECK(times[0].linear);
  CHECK_FALSE(times[1].linear);
  CHECK(times[1].launches == 2);
  CHECK(times[1].seconds == 2);
}
