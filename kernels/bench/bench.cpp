#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <iomanip>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/bench/gpu_bench.h"
#include "kernels/bench/probe.h"
#include "kernels/cpu/pool.h"
#include "kernels/kernels.h"

namespace lockstep::kernels {
namespace {

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

bool is_gpu(const Device& device) { return device.name() == "cuda" || device.name() == "hip"; }

// Medians of `times` alternating measurements.
struct Pair {
  double a, b;
};
Pair alternate(int times, const std::function<void()>& a, const std::function<void()>& b) {
  a();
  b();
  std::vector<double> as, bs;
  for (int i = 0; i < times; ++i) {
    as.push_back(seconds_of(a));
    bs.push_back(seconds_of(b));
  }
  return {median(as), median(bs)};
}

struct Bench {
  std::ostream& out;
  Device& device;
  const Probe& probe;
  cpu::Pool& pool;
  std::mt19937 random{1};
  std::atomic<uint64_t> sink{0};

  void line(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) out << std::setw(&cell == &cells[0] ? 34 : 14) << cell;
    out << '\n';
  }
};

std::string number(double x, int digits) {
  std::string text = std::to_string(x);
  return text.substr(0, text.find('.') + (digits ? static_cast<size_t>(digits) + 1 : 0));
}
std::string percent(double x) { return number(100 * x, 0) + " %"; }

// A matrix of random codes.
struct Codes {
  std::vector<uint8_t> weights, scales;
  MatrixSource source;

  Codes(std::mt19937& random, int outputs, int inputs, int bits, int group) {
    weights.resize(static_cast<size_t>(outputs) * static_cast<size_t>(inputs) / 8 *
                   static_cast<size_t>(bits));
    scales.resize(static_cast<size_t>(outputs) * static_cast<size_t>(inputs / group) * 2);
    for (auto& byte : weights) byte = static_cast<uint8_t>(random());
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = i % 2 ? 0x3c : static_cast<uint8_t>(random());
    source = {1, outputs, inputs, bits, group, ScaleType::bf16, weights.data(), scales.data(), scales.data()};
  }
};

// Random rows in block form and room for the outputs, in device memory.
struct Layer {
  Device& device;
  std::vector<void*> memory;
  Blocks in;
  float* y;
  int rows;

  Layer(Bench& bench, int rows_, int outputs, int inputs, int group) : device(bench.device), rows(rows_) {
    const size_t n = static_cast<size_t>(rows) * static_cast<size_t>(inputs);
    in = {array<int8_t>(n),
          array<int8_t>(n),
          array<float>(n / static_cast<size_t>(group)),
          array<float>(n / static_cast<size_t>(group)),
          inputs,
          group};
    float* x = array<float>(n);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < n; ++i) x[i] = normal(bench.random);
    y = array<float>(static_cast<size_t>(rows) * static_cast<size_t>(outputs));
    device.run(Quantize{rows, x, in});
  }
  ~Layer() {
    for (void* each : memory) device.release(each);
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  void run(const Matrix& matrix) const {
    const LinearOutput output{&matrix, y, matrix.outputs};
    device.run(Linear{rows, in, nullptr, {&output, 1}, nullptr, 1});
  }

 private:
  template <class T>
  T* array(size_t count) {
    memory.push_back(device.allocate(count * sizeof(T)));
    return static_cast<T*>(memory.back());
  }
};

void machine_state(Bench& bench) {
  constexpr int turns = 20000;
  alignas(128) std::atomic<int> ball{0};
  std::thread other([&] {
    for (int i = 0; i < turns; ++i) {
      while (ball.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      ball.store(2 * i + 2, std::memory_order_release);
    }
  });
  const double time = seconds_of([&] {
    for (int i = 0; i < turns; ++i) {
      ball.store(2 * i + 1, std::memory_order_release);
      while (ball.load(std::memory_order_acquire) != 2 * i + 2) {
      }
    }
  });
  other.join();
  std::vector<double> empty;
  for (int i = 0; i < 2000; ++i)
    empty.push_back(seconds_of([&] { bench.pool.run(bench.pool.threads(), [](int) {}); }));
  bench.out << bench.device.name() << ", " << bench.device.description() << "\n"
            << "two threads: " << number(time / turns * 1e9, 0) << " ns there and back; an empty operation "
            << number(median(empty) * 1e9, 0) << " ns\n";
}

void one_row(Bench& bench, int outputs, int inputs) {
  bench.out << "\nOne row from memory, six matrices of " << outputs << " x " << inputs
            << " in turn, against reading as many bytes\n";
  bench.line({"", "packing GB/s", "layer GB/s", "reading GB/s", "ratio"});
  for (const int bits : {4, 8, 6, 5, 3, 2, 4}) {
    const int group = 64;
    const Codes codes(bench.random, outputs, inputs, bits, group);
    std::vector<std::unique_ptr<Matrix>> matrices;
    const double packing = seconds_of([&] {
      for (int i = 0; i < 6; ++i) matrices.push_back(bench.device.pack(codes.source));
    });
    const size_t bytes = matrices[0]->bytes / 256 * 256 * 6, part = 1 << 16;
    auto* plain = static_cast<uint8_t*>(bench.device.allocate(bytes));
    std::fill(plain, plain + bytes, uint8_t{1});
    const Layer layer(bench, 1, outputs, inputs, group);
    const Pair time = alternate(
        11,
        [&] {
          for (const auto& matrix : matrices) layer.run(*matrix);
        },
        [&] {
          bench.pool.run(static_cast<int>((bytes + part - 1) / part), [&](int i) {
            const size_t from = static_cast<size_t>(i) * part;
            bench.sink += bench.probe.read(plain + from, std::min(part, bytes - from));
          });
        });
    bench.device.release(plain);
    const double giga = static_cast<double>(bytes) / 1e9;
    bench.line({std::to_string(bits) + " bits, group 64", number(giga / packing, 2), number(giga / time.a, 1),
                number(giga / time.b, 1), percent(time.b / time.a)});
  }
}

void many_rows(Bench& bench, int outputs, int inputs) {
  bench.out << "\nRows of " << outputs << " x " << inputs << " against " << bench.probe.product
            << " in registers (a code times a 15-bit input is "
            << (bench.probe.products == 32 ? "two byte" : "one word") << " product"
            << (bench.probe.products == 32 ? "s" : "") << ")\n";
  bench.line({"", "rows", "ms", "G products/s", "ratio"});
  for (const auto& [bits, group] : {std::pair{4, 64}, {4, 32}, {8, 64}, {5, 64}}) {
    const Codes codes(bench.random, outputs, inputs, bits, group);
    const auto matrix = bench.device.pack(codes.source);
    for (const int rows : {1, 2, 4, 8, 12, 16, 32, 96, 512}) {
      if (rows != 512 && (bits != 4 || group != 64)) continue;
      const Layer layer(bench, rows, outputs, inputs, group);
      const int repeats = std::max(1, 24 / rows), shares = 8 * bench.pool.threads();
      const auto run = [&] {
        for (int i = 0; i < repeats; ++i) layer.run(*matrix);
      };
      // About as long as the layer: a busy machine interrupts both as often.
      const double wanted =
          static_cast<double>(rows) * outputs * inputs * repeats / bench.probe.products * 1.6;
      const int64_t instructions = static_cast<int64_t>(wanted / shares / 16) * 16;
      const Pair time = alternate(rows == 512 ? 5 : 11, run, [&] {
        bench.pool.run(shares, [&](int) { bench.sink += bench.probe.multiply(instructions); });
      });
      const double products = static_cast<double>(rows) * outputs * inputs * repeats / time.a;
      const double best = static_cast<double>(instructions) * shares * bench.probe.products / time.b;
      bench.line({std::to_string(bits) + " bits, group " + std::to_string(group), std::to_string(rows),
                  number(time.a / repeats * 1e3, 3), number(products / 1e9, 1), percent(products / best)});
    }
  }
}

// Layers that fit the caches: what a small model spends on each.
void small_layers(Bench& bench) {
  bench.out << "\nOne row of small layers of 4 bits, 512 inputs, against reading as many bytes\n";
  bench.line({"", "layer us", "reading us", "ratio"});
  for (const int outputs : {128, 512, 1536, 16384}) {
    const Codes codes(bench.random, outputs, 512, 4, 64);
    const auto matrix = bench.device.pack(codes.source);
    const Layer layer(bench, 1, outputs, 512, 64);
    const size_t bytes = matrix->bytes, parts = static_cast<size_t>(outputs) / 16,
                 part = bytes / parts / 256 * 256;
    auto* plain = static_cast<uint8_t*>(bench.device.allocate(bytes));
    constexpr int repeats = 200;
    const Pair time = alternate(
        11,
        [&] {
          for (int i = 0; i < repeats; ++i) layer.run(*matrix);
        },
        [&] {
          for (int i = 0; i < repeats; ++i) {
            bench.pool.run(static_cast<int>(parts), [&](int p) {
              const volatile uint64_t sum = bench.probe.read(plain + static_cast<size_t>(p) * part, part);
              (void)sum;
            });
          }
        });
    bench.device.release(plain);
    bench.line({std::to_string(outputs) + " outputs", number(time.a / repeats * 1e6, 2),
                number(time.b / repeats * 1e6, 2), percent(time.b / time.a)});
  }
}

}  // namespace

double copy_rate(std::string_view device_name, int threads) {
  const auto device = open_device(device_name, threads);
  if (is_gpu(*device)) return gpu_copy_rate(*device);
  cpu::Pool pool(threads);
  constexpr size_t part = 1 << 20, parts = 256;
  const std::vector<uint8_t> from(parts * part, 1);
  std::vector<uint8_t> to(parts * part);
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    times.push_back(seconds_of([&] {
      pool.run(parts, [&](int p) {
        std::memcpy(&to[static_cast<size_t>(p) * part], &from[static_cast<size_t>(p) * part], part);
      });
    }));
  }
  return 2.0 * static_cast<double>(parts * part) / median(times);
}

void bench_kernels(std::ostream& out, std::string_view device_name, int threads) {
  const auto device = open_device(device_name, threads);
  if (is_gpu(*device)) return bench_gpu(out, *device);
  if (device->name() != "cpu-avx2" && device->name() != "cpu-avx512")
    throw DeviceError("kernels are measured on GPUs, cpu-avx2 and cpu-avx512, not on " +
                      std::string(device->name()));
  cpu::Pool pool(threads);
  Bench bench{out, *device, device->name() == "cpu-avx512" ? probe_avx512() : probe_avx2(), pool};
  machine_state(bench);
  one_row(bench, 17408, 5120);
  many_rows(bench, 4096, 5120);
  small_layers(bench);
}

}  // namespace lockstep::kernels
