// The GPU's kernels as fibers of the host (support/lanes.h) against the reference, bit for bit.
#include "kernels/gpu/gpu_device.h"

#include <sstream>

#include "kernels/contract/contract.h"
#include "tests/catch.h"
#include "tests/kernels/gpu/support/lanes.h"

using namespace lockstep::kernels;

namespace {

void check_operations(std::vector<std::string> names, int every = 1) {
  gpu::GpuDevice device(gpu::open_lanes());
  std::ostringstream report;
  contract::Options options;
  options.only = std::move(names);
  options.every = every;
  options.controls = false;
  const contract::Summary summary = contract::check(device, options, report);
  INFO("seed " << options.seed << "\n" << report.str());
  CHECK(summary.operations.size() == options.only.size());
  CHECK(summary.differ() == 0);
  CHECK(summary.limit_problems.empty());
}

}  // namespace

TEST_CASE("F81 after the machine was suspended nothing that a GPU's memory held is given out") {
  static gpu::TimeAsleep asleep;
  using namespace std::chrono_literals;
  asleep = {9s, 10s};  // it had slept before
  gpu::GpuDevice device(gpu::open_lanes(), [] { return asleep; });
  const int given = 7;
  int got = 0;
  void* memory = device.allocate(sizeof given);
  device.upload(memory, &given, sizeof given);
  device.download(&got, memory, sizeof got);
  CHECK(got == given);
  asleep = {10s, 30s};  // taking the time took long
  CHECK_NOTHROW(device.wait());
  asleep = {10s + 1ns, 30s};
  CHECK_THROWS_AS(device.wait(), DeviceError);
  CHECK_THROWS_AS(device.download(&got, memory, sizeof got), DeviceError);
  device.release(memory);
}

TEST_CASE("F81 a machine that is awake is never taken for one that slept") {
  const gpu::TimeAsleep first = gpu::time_asleep();
  CHECK(first.least <= first.most);
  int wrong = 0;
  for (int i = 0; i < 200'000; ++i) wrong += gpu::time_asleep().least > first.most;
  CHECK(wrong == 0);
}

TEST_CASE("the GPU's kernels of rows give the reference's bits") {
  check_operations({"embed", "norm", "quantize", "router", "combine_experts", "gather"});
}
TEST_CASE("the GPU's linear layers give the reference's bits") { check_operations({"linear"}); }
TEST_CASE("more routed rows than can be grouped are refused with the limit") {
  gpu::GpuDevice device(gpu::open_lanes());
  const std::vector<uint8_t> weights(2 * 32 * 32), scales(2 * 32 * 2);
  MatrixSource source{};
  source.experts = 2;
  source.outputs = 32;
  source.inputs = 64;
  source.bits = 4;
  source.group = 64;
  source.weights = weights.data();
  source.scales = source.biases = scales.data();
  const auto matrix = device.pack(source);
  const int32_t expert = 0;
  const LinearOutput output{matrix.get(), nullptr, 32};
  const Linear op{20'000'000, {}, nullptr, {&output, 1}, &expert, 1};
  CHECK_THROWS_WITH(device.run(op), Catch::Contains("67108864 bytes") && Catch::Contains("20000000 rows") &&
                                        Catch::Contains("chunk"));
}
TEST_CASE("the GPU's gate and up pairs give the reference's bits") { check_operations({"swiglu"}); }
TEST_CASE("the GPU's attention gives the reference's bits in every seventh case") {
  check_operations({"attention_inputs", "attention", "kv_read"}, 7);
}
TEST_CASE("the GPU's attention gives the reference's bits", "[.long]") {
  check_operations({"attention_inputs", "attention", "kv_read"});
}
TEST_CASE("the GPU's delta rule gives the reference's bits") {
  check_operations({"convolution", "convolution_replay", "delta_rule", "delta_replay"});
}
TEST_CASE("the GPU's candidates are the reference's") { check_operations({"candidates"}); }
