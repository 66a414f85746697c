// Linear layers, SwiGLU, embedding and blocks of every CPU implementation against the reference, bit for bit.
#include <cstring>
#include <random>
#include <set>

#include "kernels/cpu/cpu_device.h"
#include "kernels/reference/reference.h"
#include "tests/catch.h"

using namespace lockstep::kernels;

namespace {

// Random checkpoint data of one matrix.
struct Source {
  std::vector<uint8_t> weights, scales, biases;
  MatrixSource matrix;
};

uint32_t random_scale(std::mt19937& random, ScaleType type) {
  std::uniform_real_distribution<float> value(-0.05f, 0.05f);
  const float x = value(random);
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (type == ScaleType::fp32) return bits;
  if (type == ScaleType::bf16) return bits >> 16;
  return (bits >> 16 & 0x8000u) | (random() % 0x3000u);  // fp16 below 0.5, denormals too
}

Source make_source(std::mt19937& random, int experts, int outputs, int inputs, int bits, int group,
                   ScaleType type) {
  Source source;
  MatrixSource& m = source.matrix;
  m.experts = experts, m.outputs = outputs, m.inputs = inputs, m.bits = bits,
  m.group = bits == 16 ? 0 : group;
  m.scale_type = type;
  const size_t rows = static_cast<size_t>(experts * outputs), width = type == ScaleType::fp32 ? 4 : 2;
  source.weights.resize(rows * static_cast<size_t>(inputs) * static_cast<size_t>(bits) / 8);
  for (auto& byte : source.weights) byte = static_cast<uint8_t>(random());
  if (bits == 16) {
    for (size_t i = 1; i < source.weights.size(); i += 2)
      source.weights[i] = source.weights[i] % 0x40 | (random() & 0x80);
  } else {
    const size_t count = rows * static_cast<size_t>(inputs / group);
    for (auto* array : {&source.scales, &source.biases}) {
      array->resize(count * width);
      for (size_t i = 0; i < count; ++i) {
        const uint32_t scale = random_scale(random, type);
        std::memcpy(array->data() + i * width, &scale, width);
      }
    }
  }
  m.weights = source.weights.data(), m.scales = source.scales.data(), m.biases = source.biases.data();
  return source;
}

// Inputs of a layer: some rows with outliers, zeros, a void block.
struct Rows {
  std::vector<float> x;
  std::vector<int8_t> high, low;
  std::vector<float> multiplier, sum;
  Blocks blocks;
};

Blocks make_blocks(Rows& to, int rows, int length, int group) {
  const size_t n = static_cast<size_t>(rows * length), g = n / static_cast<size_t>(group);
  to.high.assign(n, 99), to.low.assign(n, 99), to.multiplier.assign(g, 99), to.sum.assign(g, 99);
  return {to.high.data(), to.low.data(), to.multiplier.data(), to.sum.data(), length, group};
}

Rows make_rows(std::mt19937& random, Device& reference, int rows, int length, int group) {
  Rows result;
  std::normal_distribution<float> normal;
  result.x.resize(static_cast<size_t>(rows * length));
  for (size_t i = 0; i < result.x.size(); ++i) {
    result.x[i] = normal(random) * (random() % 97 == 0 ? 1000.0f : 1.0f);
    if (i / 40 % 11 == 3) result.x[i] = 0;
  }
  if (rows > 2) result.x[static_cast<size_t>(2 * length + 5)] = INFINITY;  // row 2 is NaN
  if (group) {
    result.blocks = make_blocks(result, rows, length, group);
    reference.run(Quantize{rows, result.x.data(), result.blocks});
  }
  return result;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], 4) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
  }
  return a.size() == b.size();
}

std::vector<std::unique_ptr<Device>> devices() {
  std::vector<std::unique_ptr<Device>> all;
  for (const char* isa : {"avx2", "avx512"}) {
    if (!cpu_supports(isa)) continue;
    all.push_back(open_cpu(isa, 1));
    all.push_back(open_cpu(isa, 3));
  }
  return all;
}

constexpr ScaleType scale_types[] = {ScaleType::bf16, ScaleType::fp16, ScaleType::fp32};
constexpr int untouched = 3;  // numbers of y past a row's outputs
constexpr float mark = -77.0f;

// y of one Linear call on one device.
std::vector<float> run_linear(Device& device, const Source& source, const Rows& in, int rows,
                              const int32_t* expert, int per_input) {
  const auto matrix = device.pack(source.matrix);
  const int stride = source.matrix.outputs + untouched;
  std::vector<float> y(static_cast<size_t>(rows * stride), mark);
  const LinearOutput output{matrix.get(), y.data(), stride};
  device.run(Linear{rows, in.blocks, in.x.data(), {&output, 1}, expert, per_input});
  return y;
}

}  // namespace

TEST_CASE("linear layers give the reference's bits for every width, group, scale type and number of rows") {
  const auto reference = open_reference();
  const auto all = devices();
  std::mt19937 random(7);
  for (const int bits : {2, 3, 4, 5, 6, 8, 16}) {
    for (const int group : {32, 64, 128}) {
      for (const ScaleType type : scale_types) {
        if (bits == 16 && (group != 32 || type != ScaleType::bf16)) continue;
        // Full and short last segments, outputs that fill no tile.
        const int inputs = 256 + group * static_cast<int>(1 + random() % 3),
                  outputs = 1 + static_cast<int>(random() % 90);
        const Source source = make_source(random, 1, outputs, bits == 16 ? 301 : inputs, bits, group, type);
        for (const int rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 18, 100}) {
          const Rows in = make_rows(random, *reference, rows, source.matrix.inputs, source.matrix.group);
          const auto expected = run_linear(*reference, source, in, rows, nullptr, 1);
          for (const auto& device : all) {
            INFO(device->description()
                 << ", " << bits << " bits, group " << group << ", scales " << static_cast<int>(type) << ", "
                 << outputs << " x " << inputs << ", rows " << rows);
            CHECK(same(run_linear(*device, source, in, rows, nullptr, 1), expected));
          }
        }
      }
    }
  }
}

TEST_CASE("linear layers are exact at the largest codes and inputs") {
  const auto reference = open_reference();
  const auto all = devices();
  std::mt19937 random(8);
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    Source source = make_source(random, 1, 33, 256, bits, 128, ScaleType::fp32);
    std::fill(source.weights.begin(), source.weights.end(), 0xff);
    for (const int rows : {1, 4, 20}) {
      Rows in = make_rows(random, *reference, rows, 256, 128);
      // q of largest magnitude, of largest low bytes (127, -128), and their mixtures.
      const float extremes[] = {1.0f, -1.0f, 127.0f / 128, -127.0f / 128, 127.0f / 16384, -128.0f / 16384};
      for (size_t i = 0; i < in.x.size(); ++i)
        in.x[i] = 0.99993f * extremes[i / 64 % 6 == 5 ? random() % 6 : i / 64 % 5];
      for (size_t i = 0; i < in.high.size(); ++i) {
        const bool plus = i / 128 % 2 == 0;
        in.high[i] = plus ? 64 : -64, in.low[i] = plus ? 127 : -128;
        if (i % 5 == 0) in.high[i] = static_cast<int8_t>(-in.high[i]);
      }
      const auto expected = run_linear(*reference, source, in, rows, nullptr, 1);
      for (const auto& device : all) {
        INFO(device->description() << ", " << bits << " bits, rows " << rows);
        CHECK(same(run_linear(*device, source, in, rows, nullptr, 1), expected));
      }
    }
  }
}

TEST_CASE("experts: each row meets its own matrix") {
  const auto reference = open_reference();
  const auto all = devices();
  std::mt19937 random(9);
  for (const int bits : {3, 4, 16}) {
    const Source source = make_source(random, 5, 40, 192, bits, 64, ScaleType::bf16);
    for (const int per_input : {1, 4}) {
      for (const int inputs : {1, 2, 30}) {
        const int rows = inputs * per_input;
        const Rows in = make_rows(random, *reference, inputs, 192, source.matrix.group);
        std::vector<int32_t> expert(static_cast<size_t>(rows));
        for (auto& e : expert) e = static_cast<int32_t>(random() % 4 + random() % 2);
        const auto expected = run_linear(*reference, source, in, rows, expert.data(), per_input);
        for (const auto& device : all) {
          INFO(device->description() << ", " << bits << " bits, rows " << rows << ", per input "
                                     << per_input);
          CHECK(same(run_linear(*device, source, in, rows, expert.data(), per_input), expected));
        }
      }
    }
  }
}

TEST_CASE("one linear call fills several outputs of different widths") {
  const auto reference = open_reference();
  std::mt19937 random(10);
  const Source sources[] = {make_source(random, 1, 50, 320, 4, 64, ScaleType::bf16),
                            make_source(random, 1, 7, 320, 8, 64, ScaleType::fp16),
                            make_source(random, 1, 100, 320, 16, 0, ScaleType::bf16)};
  const auto run = [&](Device& device, const Rows& in, int rows) {
    std::vector<float> y(static_cast<size_t>(rows * 157), mark);
    std::vector<std::unique_ptr<Matrix>> matrices;
    std::vector<LinearOutput> outputs;
    int at = 0;
    for (const Source& source : sources) {
      matrices.push_back(device.pack(source.matrix));
      outputs.push_back({matrices.back().get(), y.data() + at, 157});
      at += source.matrix.outputs;
    }
    device.run(Linear{rows, in.blocks, in.x.data(), outputs, nullptr, 1});
    return y;
  };
  for (const int rows : {1, 5, 40}) {
    const Rows in = make_rows(random, *reference, rows, 320, 64);
    const auto expected = run(*reference, in, rows);
    CHECK(std::find(expected.begin(), expected.end(), mark) == expected.end());
    for (const auto& device : devices()) CHECK(same(run(*device, in, rows), expected));
  }
}

TEST_CASE("swiglu gives the reference's numbers and blocks") {
  const auto reference = open_reference();
  const auto all = devices();
  std::mt19937 random(11);
  for (const int bits : {4, 6, 16}) {
    for (const int group : {0, 32, 64, 128}) {  // of the result's blocks
      const int outputs = group ? 3 * group : 45;
      const Source gate = make_source(random, 3, outputs, 256, bits, 32, ScaleType::bf16);
      const Source up =
          make_source(random, 3, outputs, 256, bits, 32, bits == 6 ? ScaleType::fp16 : ScaleType::bf16);
      for (const int rows : {1, 4, 37, 230}) {
        const Rows in = make_rows(random, *reference, rows, 256, gate.matrix.group);
        std::vector<int32_t> expert(static_cast<size_t>(rows));
        for (auto& e : expert) e = static_cast<int32_t>(random() % 3);
        const auto run = [&](Device& device, Rows& out, bool experts) {
          const auto pair = device.pack_pair(gate.matrix, up.matrix);
          out.x.assign(static_cast<size_t>(rows * outputs), mark);
          if (group) out.blocks = make_blocks(out, rows, outputs, group);
          device.run(SwiGlu{rows, in.blocks, in.x.data(), pair.get(), out.x.data(),
                            group ? &out.blocks : nullptr, experts ? expert.data() : nullptr, 1});
        };
        for (const bool experts : {false, true}) {
          Rows expected, got;
          run(*reference, expected, experts);
          for (const auto& device : all) {
            INFO(device->description() << ", " << bits << " bits, group " << group << ", rows " << rows);
            run(*device, got, experts);
            CHECK(same(got.x, expected.x));
            CHECK(got.high == expected.high);
            CHECK(got.low == expected.low);
            CHECK(same(got.multiplier, expected.multiplier));
            CHECK(same(got.sum, expected.sum));
          }
        }
      }
    }
  }
}

TEST_CASE("embedding rows are the reference's") {
  const auto reference = open_reference();
  const auto all = devices();
  std::mt19937 random(12);
  for (const int bits : {2, 3, 4, 5, 6, 8, 16}) {
    for (const ScaleType type : scale_types) {
      const Source source = make_source(random, 1, 53, 640, bits, 64, type);
      const std::vector<int32_t> tokens = {0, 52, 15, 16, 17, 31, 52};
      const auto run = [&](Device& device) {
        const auto table = device.pack(source.matrix);
        std::vector<float> out(tokens.size() * 640, mark);
        device.run(Embed{static_cast<int>(tokens.size()), tokens.data(), table.get(), out.data()});
        return out;
      };
      const auto expected = run(*reference);
      for (const auto& device : all) {
        INFO(device->description() << ", " << bits << " bits");
        CHECK(same(run(*device), expected));
      }
    }
  }
}

TEST_CASE("quantize writes the reference's blocks") {
  const auto reference = open_reference();
  std::mt19937 random(13);
  for (const int group : {32, 64, 128}) {
    for (const int rows : {1, 5}) {
      const Rows in = make_rows(random, *reference, rows, 21 * group, group);
      for (const auto& device : devices()) {
        Rows got;
        const Blocks blocks = make_blocks(got, rows, 21 * group, group);
        device->run(Quantize{rows, in.x.data(), blocks});
        CHECK(got.high == in.high);
        CHECK(got.low == in.low);
        CHECK(same(got.multiplier, in.multiplier));
        CHECK(same(got.sum, in.sum));
      }
    }
  }
}

TEST_CASE("a packed matrix holds the checkpoint's bytes and no more than its last tile's padding") {
  std::mt19937 random(14);
  for (const auto& device : devices()) {
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      const Source source = make_source(random, 2, 64, 256, bits, 64, ScaleType::bf16);
      CHECK(device->pack(source.matrix)->bytes ==
            source.weights.size() + source.scales.size() + source.biases.size());
    }
    MatrixSource bad = make_source(random, 1, 16, 64, 4, 64, ScaleType::bf16).matrix;
    bad.group = 48;
    CHECK_THROWS_AS(device->pack(bad), DeviceError);
  }
}
