// Accuracy of the reference's convolution and delta rule against fp64, and replay.
#include "kernels/canon/math.h"
#include "kernels/reference/reference.h"
#include "tests/catch.h"
#include "tests/kernels/reference/accuracy.h"

using namespace lockstep::kernels;
using namespace lockstep::kernels::accuracy;

namespace {

const DeltaShape shape{2, 4, 64, 32, 4};
constexpr int channels = 2 * 2 * 64 + 4 * 32;

// One lane from position 0.
struct Lane {
  Lane(int rows_, Kind kind, std::mt19937& random) : rows(rows_) {
    const auto n = static_cast<size_t>(rows);
    x = numbers(n * channels, kind, random);
    weight = numbers(channels * 4, Kind::normal, random);
    a = numbers(n * 4, Kind::normal, random);
    b = numbers(n * 4, Kind::normal, random);
    z = numbers(n * 128, Kind::normal, random);
    a_log = numbers(4, Kind::normal, random);
    dt_bias = numbers(4, Kind::normal, random);
    norm = numbers(32, Kind::normal, random);
    qkv.resize(x.size());
    out.resize(n * 128);
    update.resize(n * 128);
    position.resize(n);
    row_sequence.assign(n, 0);
  }

  // Rows [first, first + count) as one round on slot 0.
  void run(Device& device, int first, int count, bool keep) {
    sequence = {0, count, first, 0, 0, keep ? count : 0};
    const auto at = static_cast<size_t>(first);
    for (int i = 0; i < count; ++i) position[static_cast<size_t>(i)] = first + i;
    const Round round{count,   1,     &sequence,    position.data(), row_sequence.data(),
                      nullptr, count, first + count};
    device.run(
        Convolution{round, shape, &x[at * channels], weight.data(), conv_state.data(), &qkv[at * channels]});
    device.run(DeltaRule{round, shape, &qkv[at * channels], &a[at * 4], &b[at * 4], &z[at * 128],
                         a_log.data(), dt_bias.data(), norm.data(), 1e-6f, state.data(), &update[at * 128],
                         &out[at * 128], nullptr});
  }
  void replay(Device& device, int first, int count, int keep) {
    sequence = {0, count, first, 0, 0, keep};
    const auto at = static_cast<size_t>(first);
    const Round round{count,   1,     &sequence,    position.data(), row_sequence.data(),
                      nullptr, count, first + count};
    device.run(ConvolutionReplay{round, shape, &x[at * channels], conv_state.data()});
    device.run(DeltaReplay{round, shape, &qkv[at * channels], &a[at * 4], a_log.data(), dt_bias.data(),
                           &update[at * 128], state.data()});
  }

  std::vector<double> conv_truth() const {
    std::vector<double> y(x.size());
    for (int t = 0; t < rows; ++t) {
      for (int c = 0; c < channels; ++c) {
        double sum = 0.0;
        for (int tap = 0; tap < 4; ++tap) {
          const int from = t - 3 + tap;
          if (from < 0) continue;
          sum += static_cast<double>(weight[static_cast<size_t>(c * 4 + tap)]) *
                 static_cast<double>(x[static_cast<size_t>(from * channels + c)]);
        }
        y[static_cast<size_t>(t * channels + c)] = sum / (1 + std::exp(-sum));
      }
    }
    return y;
  }

  // From fp64 convolution on.
  std::vector<double> truth() const {
    const std::vector<double> y = conv_truth();
    std::vector<double> result(out.size());
    for (int h = 0; h < 4; ++h) {
      const auto head = static_cast<size_t>(h);
      std::vector<double> s(64 * 32), k(64), q(64), u(32), o(32);
      for (size_t t = 0; t < static_cast<size_t>(rows); ++t) {
        const double* line = &y[t * channels];
        double kk = 1e-6, qq = 1e-6;
        for (size_t i = 0; i < 64; ++i) {
          q[i] = line[head / 2 * 64 + i];
          k[i] = line[128 + head / 2 * 64 + i];
          kk += k[i] * k[i];
          qq += q[i] * q[i];
        }
        for (size_t i = 0; i < 64; ++i) {
          k[i] /= std::sqrt(kk);
          q[i] /= std::sqrt(qq) * 8.0;
        }
        const double dt = static_cast<double>(a[t * 4 + head]) + static_cast<double>(dt_bias[head]);
        const double decay = std::exp(-std::exp(static_cast<double>(a_log[head])) * std::log1p(std::exp(dt)));
        const double beta = 1 / (1 + std::exp(-static_cast<double>(b[t * 4 + head])));
        double ss = 0.0;
        for (size_t j = 0; j < 32; ++j) {
          double dot = 0.0;
          for (size_t i = 0; i < 64; ++i) dot += (s[i * 32 + j] *= decay) * k[i];
          u[j] = beta * (line[256 + head * 32 + j] - dot);
          o[j] = 0.0;
          for (size_t i = 0; i < 64; ++i) o[j] += (s[i * 32 + j] += k[i] * u[j]) * q[i];
          ss += o[j] * o[j];
        }
        for (size_t j = 0; j < 32; ++j) {
          const double gate = static_cast<double>(z[t * 128 + head * 32 + j]);
          result[t * 128 + head * 32 + j] =
              o[j] / std::sqrt(ss / 32 + 1e-6) * static_cast<double>(norm[j]) * gate / (1 + std::exp(-gate));
        }
      }
    }
    return result;
  }

  int rows;
  std::vector<float> x, weight, a, b, z, a_log, dt_bias, norm, qkv, out, update;
  std::vector<float> conv_state = std::vector<float>(3 * channels, 7.0f);  // position 0 must not read it
  std::vector<float> state = std::vector<float>(4 * 64 * 32, 7.0f);
  std::vector<int32_t> position, row_sequence;
  Sequence sequence;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (canon::bits_of(a[i]) != canon::bits_of(b[i])) return false;
  }
  return a.size() == b.size();
}

}  // namespace

TEST_CASE("convolution is within 1e-6 and the delta rule within 1e-5 of fp64") {
  std::mt19937 random(41);
  const auto device = open_reference();
  for (const Kind kind : kinds) {
    Lane lane(300, kind, random);
    lane.run(*device, 0, 300, true);
    const double conv = relative_error(lane.qkv, lane.conv_truth()),
                 delta = relative_error(lane.out, lane.truth());
    INFO(name_of(kind) << ": convolution " << conv << ", delta rule " << delta);
    CHECK(conv < 1e-6);
    CHECK(delta < 1e-5);
  }
}

TEST_CASE("rounds of any cut, and replayed drafts, give the bits of one round") {
  std::mt19937 random(42);
  const auto device = open_reference();
  Lane whole(40, Kind::normal, random);
  Lane cut = whole;
  whole.run(*device, 0, 40, true);
  int first = 0;
  for (const int count : {1, 2, 7, 3, 1, 26}) {
    cut.run(*device, first, count, true);
    first += count;
  }
  CHECK(same_bits(cut.out, whole.out));
  CHECK(same_bits(cut.state, whole.state));
  CHECK(same_bits(cut.conv_state, whole.conv_state));

  // Rounds of 8 rows without keeping, of which 1, 5 or 8 are then accepted; the first from position 0.
  Lane drafted = whole;
  drafted.conv_state.assign(drafted.conv_state.size(), 3.0f);
  drafted.state.assign(drafted.state.size(), 3.0f);
  first = 0;
  for (const int accepted : {5, 1, 8, 2, 8, 8, 8}) {
    const std::vector<float> before = drafted.state;
    drafted.run(*device, first, 8, false);
    CHECK(same_bits(drafted.state, before));
    drafted.replay(*device, first, 8, accepted);
    first += accepted;
  }
  REQUIRE(first == 40);
  CHECK(same_bits(drafted.out, whole.out));
  CHECK(same_bits(drafted.state, whole.state));
  CHECK(same_bits(drafted.conv_state, whole.conv_state));
}
