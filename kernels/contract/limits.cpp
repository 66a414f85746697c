#include "kernels/contract/limits.h"

#include <algorithm>
#include <cstdint>

#include "kernels/contract/data.h"

namespace lockstep::kernels::contract {

namespace {

void check_memory(Device& device, std::vector<std::string>& problems) {
  for (const size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{4097}, size_t{5} << 20}) {
    void* memory = device.allocate(bytes);
    const std::vector<uint8_t> pattern(bytes, 0x5a);
    std::vector<uint8_t> read(bytes, 1);
    if (reinterpret_cast<uintptr_t>(memory) % 64 != 0)
      problems.push_back("memory is not aligned to 64 bytes");
    device.download(read.data(), memory, bytes);
    if (std::any_of(read.begin(), read.end(), [](uint8_t b) { return b != 0; })) {
      problems.push_back("fresh memory of " + std::to_string(bytes) + " bytes is not zero");
    }
    void* second = device.allocate(bytes);
    device.upload(memory, pattern.data(), bytes);
    device.prepare(memory, bytes);
    device.copy(second, memory, bytes);
    device.download(read.data(), second, bytes);
    if (read != pattern) problems.push_back("copied memory differs");
    device.release(memory);
    device.release(second);
  }
  try {
    device.release(device.allocate(size_t{1} << 50));
    problems.push_back("2^50 bytes of memory were granted");
  } catch (const OutOfMemory&) {
  }
}

void check_packing(Device& device, std::vector<std::string>& problems) {
  Data data(3);
  const MatrixData good(data, 2, 16, 256, 4, 64, ScaleType::bf16),
      other(data, 2, 16, 256, 8, 64, ScaleType::bf16);
  const auto packed = device.pack(good.source());
  if (packed->experts != 2 || packed->outputs != 16 || packed->inputs != 256 || packed->bits != 4 ||
      packed->group != 64 || packed->pair || packed->bytes == 0) {
    problems.push_back("a packed matrix does not say what it is");
  }
  const auto pair = device.pack_pair(good.source(), good.source());
  if (pair->outputs != 16 || !pair->pair) problems.push_back("a packed pair does not say what it is");
  const auto refuses = [&](const char* what, const auto& call) {
    try {
      call();
      problems.push_back(std::string(what) + " was packed");
    } catch (const DeviceError&) {
    }
  };
  MatrixSource bad = good.source();
  bad.bits = 7;
  refuses("a matrix of 7-bit codes", [&] { device.pack(bad); });
  bad = good.source();
  bad.group = 48;
  refuses("a matrix with groups of 48", [&] { device.pack(bad); });
  bad = good.source();
  bad.inputs = 224;
  refuses("a matrix whose inputs do not divide into groups", [&] { device.pack(bad); });
  bad = good.source();
  bad.outputs = 0;
  refuses("an empty matrix", [&] { device.pack(bad); });
  refuses("a pair of different widths", [&] { device.pack_pair(good.source(), other.source()); });
}

}  // namespace

std::vector<std::string> limit_problems(Device& device) {
  std::vector<std::string> problems;
  check_memory(device, problems);
  check_packing(device, problems);
  if (device.kv_page_bytes(2, 64) == 0) problems.push_back("a page of keys and values has no bytes");
  return problems;
}

}  // namespace lockstep::kernels::contract
