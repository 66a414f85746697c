// Operations of a GPU beside a copy of its memory, at the shapes of a model of 27 billion weights.
#include "kernels/bench/gpu_bench.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace lockstep::kernels {
namespace {

using Clock = std::chrono::steady_clock;

// Device memory that is given back.
class Memory {
 public:
  Memory(Device& device, size_t bytes) : device_(device), data_(device.allocate(bytes)) {}
  ~Memory() { device_.release(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Device& device_;
  void* data_;
};

// Seconds of one call of f, from many calls at once; the median of five such measurements.
template <class F>
double seconds_of(Device& device, const F& f) {
  int calls = 1;
  std::vector<double> times;
  for (int i = -2; i < 5; ++i) {
    device.wait();
    const auto start = Clock::now();
    for (int k = 0; k < calls; ++k) f(k);
    device.wait();
    const double time = std::chrono::duration<double>(Clock::now() - start).count();
    if (i >= 0) times.push_back(time / calls);
    if (i == -1) calls = std::clamp(static_cast<int>(0.03 / time), 1, 4000);
  }
  std::nth_element(times.begin(), times.begin() + 2, times.end());
  return times[2];
}

std::vector<uint8_t> random_bytes(std::mt19937_64& random, size_t bytes) {
  std::vector<uint64_t> words(std::min<size_t>(bytes / 8 + 1, size_t{1} << 21));
  for (uint64_t& word : words) word = random();
  std::vector<uint8_t> data(bytes);
  const auto* pool = reinterpret_cast<const uint8_t*>(words.data());
  for (size_t at = 0; at < bytes; at += words.size() * 8)
    std::copy_n(pool, std::min(words.size() * 8, bytes - at), data.begin() + static_cast<ptrdiff_t>(at));
  return data;
}

// A matrix of 4-bit codes, several times, so that no cache holds them.
struct Matrices {
  std::vector<std::unique_ptr<Matrix>> copies;

  Matrices(Device& device, std::mt19937_64& random, int outputs, int inputs) {
    const auto n = static_cast<size_t>(outputs) * static_cast<size_t>(inputs);
    const std::vector<uint8_t> codes = random_bytes(random, n / 2);
    std::vector<uint16_t> scales(n / 64);
    for (uint16_t& scale : scales) scale = static_cast<uint16_t>(0x3c00 + random() % 128);
    const MatrixSource source{
        1, outputs, inputs, 4, 64, ScaleType::bf16, codes.data(), scales.data(), scales.data()};
    const size_t wanted = std::max<size_t>(1, (size_t{400} << 20) / (n / 2));
    while (copies.size() < wanted) copies.push_back(device.pack(source));
  }
};

struct Input {
  Memory x, high, low, multiplier, sum;
  Blocks blocks;

  Input(Device& device, std::mt19937_64& random, int rows, int length)
      : x(device, count(rows, length) * 4),
        high(device, count(rows, length)),
        low(device, count(rows, length)),
        multiplier(device, count(rows, length) / 16),
        sum(device, count(rows, length) / 16),
        blocks{high.as<int8_t>(), low.as<int8_t>(), multiplier.as<float>(), sum.as<float>(), length, 64} {
    std::normal_distribution<float> normal;
    std::vector<float> numbers(count(rows, length));
    for (float& v : numbers) v = normal(random);
    device.upload(x.as<float>(), numbers.data(), numbers.size() * 4);
    device.run(Quantize{rows, x.as<float>(), blocks});
    device.wait();
  }
  static size_t count(int rows, int length) {
    return static_cast<size_t>(rows) * static_cast<size_t>(length);
  }
};

void linear_layers(std::ostream& out, Device& device, std::mt19937_64& random) {
  const double copy = gpu_copy_rate(device);
  out << "device copy, read and written: " << std::setprecision(3) << copy / 1e12 << " TB/s\n\n"
      << "Linear layers of 4-bit codes in groups of 64: bytes of weights a second against the copy's\n"
      << std::setw(16) << "outputs x inputs";
  const std::vector<int> row_counts = {1, 2, 4, 8, 16, 32};
  for (const int rows : row_counts)
    out << std::setw(17) << std::to_string(rows) + (rows == 1 ? " row" : " rows");
  out << '\n';
  for (const auto& [outputs, inputs] : {std::pair{34816, 5120},
                                        {16384, 5120},
                                        {14336, 5120},
                                        {10240, 5120},
                                        {5120, 17408},
                                        {5120, 6144},
                                        {248320, 5120}}) {
    const Matrices matrices(device, random, outputs, inputs);
    out << std::setw(16) << std::to_string(outputs) + " x " + std::to_string(inputs);
    for (const int rows : row_counts) {
      const Input input(device, random, rows, inputs);
      const Memory y(device, Input::count(rows, outputs) * 4);
      const double time = seconds_of(device, [&](int k) {
        const Matrix* matrix = matrices.copies[static_cast<size_t>(k) % matrices.copies.size()].get();
        const LinearOutput output{matrix, y.as<float>(), outputs};
        device.run(Linear{rows, input.blocks, nullptr, {&output, 1}, nullptr, 1});
      });
      const double rate = static_cast<double>(matrices.copies[0]->bytes) / time;
      out << std::setw(9) << std::fixed << std::setprecision(1) << time * 1e6 << "us" << std::setw(4)
          << std::setprecision(0) << 100 * rate / copy << " %" << std::defaultfloat;
    }
    out << std::endl;
  }
}

void many_rows(std::ostream& out, Device& device, std::mt19937_64& random) {
  out << "\nThe same with many rows: 2 * rows * outputs * inputs operations a second\n";
  for (const auto& [rows, outputs, inputs] :
       {std::tuple{512, 34816, 5120}, {2048, 34816, 5120}, {2048, 5120, 17408}}) {
    const Matrices matrices(device, random, outputs, inputs);
    const Input input(device, random, rows, inputs);
    const Memory y(device, Input::count(rows, outputs) * 4);
    const LinearOutput output{matrices.copies[0].get(), y.as<float>(), outputs};
    const double time = seconds_of(device, [&](int) {
      device.run(Linear{rows, input.blocks, nullptr, {&output, 1}, nullptr, 1});
    });
    out << std::setw(6) << rows << " rows " << std::setw(16)
        << std::to_string(outputs) + " x " + std::to_string(inputs) << std::setw(10) << std::fixed
        << std::setprecision(2) << time * 1e3 << " ms" << std::setw(8) << std::setprecision(1)
        << 2.0 * rows * outputs * inputs / time / 1e12 << " TFLOP/s" << std::defaultfloat << std::endl;
  }
}

}  // namespace

double gpu_copy_rate(Device& device) {
  const size_t bytes = std::min<size_t>(size_t{2} << 30, device.free_memory() / 8);
  const Memory from(device, bytes), to(device, bytes);
  const double time = seconds_of(device, [&](int) { device.copy(to.as<void>(), from.as<void>(), bytes); });
  return 2.0 * static_cast<double>(bytes) / time;
}

void bench_gpu(std::ostream& out, Device& device) {
  out << device.name() << ", " << device.description() << "\n";
  std::mt19937_64 random(1);
  linear_layers(out, device, random);
  many_rows(out, device, random);
}

}  // namespace lockstep::kernels
