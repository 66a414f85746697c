// Accuracy of the reference's linear layers and row operations against fp64.
#include <numeric>

#include "kernels/canon/math.h"
#include "kernels/reference/codes.h"
#include "kernels/reference/reference.h"
#include "tests/catch.h"
#include "tests/kernels/reference/accuracy.h"

using namespace lockstep::kernels;
using namespace lockstep::kernels::accuracy;

namespace {

// A matrix of random codes; scales and biases so that weights are about N(0, 1)-sized.
struct CodedMatrix {
  CodedMatrix(int outputs, int inputs, int bits, int group, std::mt19937& random) {
    const auto n = static_cast<size_t>(outputs) * static_cast<size_t>(inputs);
    codes.resize(n * static_cast<size_t>(bits) / 8);
    for (uint8_t& byte : codes) byte = static_cast<uint8_t>(random());
    std::uniform_real_distribution<float> spread(0.5f, 1.5f);
    const float most = static_cast<float>((1 << bits) - 1);
    for (size_t g = 0; g < n / static_cast<size_t>(group); ++g) {
      scales.push_back(3.4f / most * spread(random));
      biases.push_back(-1.7f * spread(random));
    }
    source = {1, outputs, inputs, bits, group, ScaleType::fp32, codes.data(), scales.data(), biases.data()};
  }
  double weight(int o, int i) const {
    std::vector<uint8_t> line(static_cast<size_t>(source.inputs));
    const size_t stride = static_cast<size_t>(source.inputs * source.bits / 8);
    unpack_codes(&codes[static_cast<size_t>(o) * stride], source.bits, source.inputs, line.data());
    const size_t g = static_cast<size_t>((o * source.inputs + i) / source.group);
    return static_cast<double>(scales[g]) * line[static_cast<size_t>(i)] + static_cast<double>(biases[g]);
  }
  std::vector<double> times(const std::vector<double>& x) const {
    std::vector<double> y(static_cast<size_t>(source.outputs));
    std::vector<uint8_t> line(static_cast<size_t>(source.inputs));
    const size_t stride = static_cast<size_t>(source.inputs * source.bits / 8);
    for (size_t o = 0; o < y.size(); ++o) {
      unpack_codes(&codes[o * stride], source.bits, source.inputs, line.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t g = (o * x.size() + i) / static_cast<size_t>(source.group);
        y[o] += (static_cast<double>(scales[g]) * line[i] + static_cast<double>(biases[g])) * x[i];
      }
    }
    return y;
  }
  std::vector<uint8_t> codes;
  std::vector<float> scales, biases;
  MatrixSource source;
};

std::vector<double> rounded_to_bf16(const std::vector<float>& x) {
  std::vector<double> y;
  for (float v : x) {
    const uint32_t bits = canon::bits_of(v);
    y.push_back(static_cast<double>(canon::float_of((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u)));
  }
  return y;
}

}  // namespace

TEST_CASE("linear layers are within 6e-4 of fp64, at least three times closer than a row rounded to bf16") {
  std::mt19937 random(21);
  const auto device = open_reference();
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      const int inputs = 5120 - 5120 % 384 + 128, outputs = 24;  // the last segment is shorter
      const CodedMatrix m(outputs, inputs, bits, group, random);
      const auto packed = device->pack(m.source);
      for (const Kind kind : kinds) {
        const std::vector<float> x = numbers(static_cast<size_t>(inputs), kind, random);
        BlockMemory in(1, inputs, group);
        device->run(Quantize{1, x.data(), in.blocks});
        std::vector<float> y(static_cast<size_t>(outputs));
        const LinearOutput output{packed.get(), y.data(), outputs};
        device->run(Linear{1, in.blocks, nullptr, {&output, 1}, nullptr, 1});
        const std::vector<double> truth = m.times(widened(x));
        std::vector<float> rough;
        for (double v : m.times(rounded_to_bf16(x))) rough.push_back(static_cast<float>(v));
        const double error = relative_error(y, truth), bf16 = relative_error(rough, truth);
        INFO(bits << " bits, group " << group << ", " << name_of(kind) << ": " << error << ", bf16 row "
                  << bf16);
        CHECK(error < 6e-4);
        CHECK(error < bf16 / 3);
      }
    }
  }
}

TEST_CASE("bf16 matrices are within 1e-6 of fp64 and embedding rows are the weights") {
  std::mt19937 random(22);
  const auto device = open_reference();
  const int outputs = 8, inputs = 320;
  std::vector<uint16_t> weights(static_cast<size_t>(outputs * inputs));
  for (uint16_t& w : weights)
    w = static_cast<uint16_t>(canon::bits_of(numbers(1, Kind::normal, random)[0]) >> 16);
  const MatrixSource source{1, outputs, inputs, 16, 0, ScaleType::bf16, weights.data(), nullptr, nullptr};
  const auto packed = device->pack(source);
  const std::vector<float> x = numbers(static_cast<size_t>(inputs), Kind::normal, random);
  std::vector<float> y(static_cast<size_t>(outputs)), rows(static_cast<size_t>(2 * inputs));
  const LinearOutput output{packed.get(), y.data(), outputs};
  device->run(Linear{1, Blocks{}, x.data(), {&output, 1}, nullptr, 1});
  std::vector<double> truth(y.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    truth[i / x.size()] +=
        static_cast<double>(bf16_to_float(weights[i])) * static_cast<double>(x[i % x.size()]);
  }
  CHECK(relative_error(y, truth) < 1e-6);

  const int32_t tokens[] = {5, 2};
  device->run(Embed{2, tokens, packed.get(), rows.data()});
  const CodedMatrix coded(outputs, inputs, 3, 32, random);
  std::vector<float> coded_rows(rows.size());
  device->run(Embed{2, tokens, device->pack(coded.source).get(), coded_rows.data()});
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < inputs; ++i) {
      const size_t at = static_cast<size_t>(r * inputs + i);
      CHECK(rows[at] == bf16_to_float(weights[static_cast<size_t>(tokens[r] * inputs + i)]));
      CHECK(coded_rows[at] == static_cast<float>(coded.weight(tokens[r], i)));
    }
  }
}

TEST_CASE("SwiGlu is silu of the gate times up within 3e-4") {
  std::mt19937 random(23);
  const auto device = open_reference();
  const int outputs = 64, inputs = 512;
  const CodedMatrix gate(outputs, inputs, 4, 64, random), up(outputs, inputs, 4, 64, random);
  std::vector<float> x = numbers(static_cast<size_t>(inputs), Kind::normal, random);
  for (float& v : x) v *= 0.05f;
  BlockMemory in(1, inputs, 64), out_blocks(1, outputs, 32);
  device->run(Quantize{1, x.data(), in.blocks});
  std::vector<float> y(static_cast<size_t>(outputs));
  const auto pair = device->pack_pair(gate.source, up.source);
  device->run(SwiGlu{1, in.blocks, nullptr, pair.get(), y.data(), &out_blocks.blocks, nullptr, 1});
  std::vector<double> truth = gate.times(widened(x));
  const std::vector<double> ups = up.times(widened(x));
  for (size_t i = 0; i < truth.size(); ++i) truth[i] = truth[i] / (1 + std::exp(-truth[i])) * ups[i];
  CHECK(relative_error(y, truth) < 3e-4);
  std::vector<float> from_blocks;
  for (size_t i = 0; i < y.size(); ++i) {
    from_blocks.push_back(static_cast<float>(256 * out_blocks.high[i] + out_blocks.low[i]) *
                          out_blocks.multiplier[i / 32]);
  }
  CHECK(relative_error(from_blocks, widened(y)) < 2e-4);
}

TEST_CASE("RMS norm is within 3e-7 of fp64") {
  std::mt19937 random(24);
  const auto device = open_reference();
  for (const int length : {16, 128, 1000, 5120}) {
    for (const Kind kind : kinds) {
      std::vector<float> x = numbers(static_cast<size_t>(length), kind, random);
      const std::vector<float> add = numbers(x.size(), kind, random);
      const std::vector<float> weight = numbers(x.size(), Kind::normal, random);
      std::vector<float> sum(x.size()), out(x.size());
      for (size_t i = 0; i < x.size(); ++i) sum[i] = x[i] + add[i];
      const float eps = 1e-6f;
      device->run(Norm{1, length, x.data(), add.data(), weight.data(), eps, out.data(), length, nullptr});
      CHECK(x == sum);
      double ss = 0.0;
      for (float v : sum) ss += static_cast<double>(v) * static_cast<double>(v);
      const double r = 1.0 / std::sqrt(ss / length + static_cast<double>(eps));
      std::vector<double> truth;
      for (size_t i = 0; i < x.size(); ++i) {
        truth.push_back(static_cast<double>(sum[i]) * r * static_cast<double>(weight[i]));
      }
      INFO(length << " numbers, " << name_of(kind) << ": " << relative_error(out, truth));
      CHECK(relative_error(out, truth) < 3e-7);
    }
  }
}

TEST_CASE("experts: the largest logits in order, ties to the lower index, NaN first, weights within 1e-6") {
  const auto device = open_reference();
  const std::vector<float> logits = {0.5f, 2.0f, -1.0f, 2.0f, 1.0f, 0.5f};
  std::vector<int32_t> expert(4);
  std::vector<float> weight(4);
  device->run(Router{1, 6, 4, logits.data(), expert.data(), weight.data()});
  CHECK(expert == std::vector<int32_t>{1, 3, 4, 0});
  std::vector<double> truth = {1.0, 1.0, std::exp(-1.0), std::exp(-1.5)};
  const double total = std::accumulate(truth.begin(), truth.end(), 0.0);
  for (double& t : truth) t /= total;
  CHECK(relative_error(weight, truth) < 1e-6);

  const std::vector<float> routed = {1, 2, 3, 4, 5, 6, 7, 8}, shared = {10, 20};
  const float gate = 0.25f;
  std::vector<float> out(2);
  device->run(CombineExperts{1, 4, 2, routed.data(), weight.data(), shared.data(), &gate, out.data()});
  std::vector<double> sums(2);
  for (size_t i = 0; i < 8; ++i) sums[i % 2] += truth[i / 2] * static_cast<double>(routed[i]);
  for (size_t i = 0; i < 2; ++i) sums[i] += static_cast<double>(shared[i]) / (1 + std::exp(-0.25));
  CHECK(relative_error(out, sums) < 1e-6);

  std::vector<float> with_nan = logits;
  with_nan[2] = std::nanf("");
  device->run(Router{1, 6, 4, with_nan.data(), expert.data(), weight.data()});
  CHECK(expert == std::vector<int32_t>{2, 1, 3, 4});
  for (float w : weight) CHECK(std::isnan(w));
}

TEST_CASE(
    "candidates: ranks, ties to the lower id, log-probabilities within 1e-6, non-finite rows are told") {
  std::mt19937 random(25);
  const auto device = open_reference();
  const int vocabulary = 5003, count = 40;
  std::vector<float> logits = numbers(static_cast<size_t>(3 * vocabulary), Kind::normal, random);
  for (size_t i = 0; i < logits.size(); i += 3) logits[i] = std::round(logits[i] * 4) / 4;  // many ties
  logits[static_cast<size_t>(vocabulary) + 7] = -std::numeric_limits<float>::infinity();
  std::vector<int32_t> id(3 * count), finite(3, 9);
  std::vector<float> logit(id.size()), maximum(3), log_sum(3);
  device->run(Candidates{3, vocabulary, count, logits.data(), id.data(), logit.data(), maximum.data(),
                         log_sum.data(), finite.data()});
  CHECK(finite == std::vector<int32_t>{1, 0, 1});
  for (const int row : {0, 2}) {
    const float* l = &logits[static_cast<size_t>(row * vocabulary)];
    std::vector<int32_t> order(static_cast<size_t>(vocabulary));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return l[a] > l[b]; });
    double total = 0.0;
    for (int i = 0; i < vocabulary; ++i)
      total += std::exp(static_cast<double>(l[i]) - static_cast<double>(l[order[0]]));
    CHECK(std::fabs(static_cast<double>(log_sum[static_cast<size_t>(row)]) - std::log(total)) <
          1e-6 * std::log(total));
    CHECK(maximum[static_cast<size_t>(row)] == l[order[0]]);
    for (int rank = 0; rank < count; ++rank) {
      CHECK(id[static_cast<size_t>(row * count + rank)] == order[static_cast<size_t>(rank)]);
      CHECK(logit[static_cast<size_t>(row * count + rank)] == l[order[static_cast<size_t>(rank)]]);
    }
  }
}

TEST_CASE("codes of every width are read as a little-endian bit stream, fp16 and bf16 widen exactly") {
  const std::vector<uint8_t> bytes = {0xb1, 0x4e, 0xd7, 0x28, 0x93, 0x6a};
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    const int n = 48 / bits;
    std::vector<uint8_t> codes(static_cast<size_t>(n));
    unpack_codes(bytes.data(), bits, n, codes.data());
    uint64_t all = 0;
    for (size_t i = 0; i < bytes.size(); ++i) all |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    for (int i = 0; i < n; ++i) {
      CHECK(codes[static_cast<size_t>(i)] == ((all >> (i * bits)) & ((1u << bits) - 1)));
    }
  }
  CHECK(fp16_to_float(0x3c00) == 1.0f);
  CHECK(fp16_to_float(0xc500) == -5.0f);
  CHECK(fp16_to_float(0x0001) == 0x1p-24f);
  CHECK(fp16_to_float(0x83ff) == -0x1.ff8p-15f);
  CHECK(fp16_to_float(0x7bff) == 65504.0f);
  CHECK(std::isinf(fp16_to_float(0x7c00)));
  CHECK(std::isnan(fp16_to_float(0x7e00)));
  CHECK(bf16_to_float(0xc040) == -3.0f);
}
