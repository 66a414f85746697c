// Accuracy of the reference's attention against fp64, and what void blocks and masks do.
#include <algorithm>

#include "kernels/canon/math.h"
#include "kernels/canon/rotary.h"
#include "kernels/reference/reference.h"
#include "tests/catch.h"
#include "tests/kernels/reference/accuracy.h"

using namespace lockstep::kernels;
using namespace lockstep::kernels::accuracy;

namespace {

// One lane's prompt, positions 0 to rows-1, pages in a shuffled order.
struct Prompt {
  Prompt(int rows_, AttentionShape shape_, Kind kind, std::mt19937& random) : rows(rows_), shape(shape_) {
    const auto n = static_cast<size_t>(rows), dim = static_cast<size_t>(shape.head_dim);
    q_gate = numbers(n * static_cast<size_t>(shape.query_heads) * 2 * dim, kind, random);
    k = numbers(n * static_cast<size_t>(shape.key_heads) * dim, kind, random);
    v = numbers(k.size(), kind, random);
    q_norm = numbers(dim, Kind::normal, random);
    k_norm = numbers(dim, Kind::normal, random);
    for (int i = 0; i < shape.rotary_dim / 2; ++i) {
      inv_freq.push_back(canon::inverse_frequency(1e6, i, shape.rotary_dim));
    }
    for (int i = 0; i < rows; ++i) position.push_back(i);
    row_sequence.assign(n, 0);
    for (int i = 0; i < (rows + 63) / 64; ++i) pages.push_back(i);
    std::shuffle(pages.begin(), pages.end(), random);
    sequence = {0, rows, 0, 0, 0, rows};
    round = {rows, 1, &sequence, position.data(), row_sequence.data(), pages.data(), rows, rows};
  }

  std::vector<float> run(Device& device) {
    const size_t bytes = device.kv_page_bytes(shape.key_heads, shape.head_dim) * pages.size();
    void* memory = device.allocate(bytes);
    const KvPages kv{memory, shape.key_heads, shape.head_dim};
    BlockMemory q(rows, shape.query_heads * shape.head_dim, shape.head_dim);
    device.run(AttentionInputs{round, shape, q_gate.data(), k.data(), v.data(), q_norm.data(), k_norm.data(),
                               eps, inv_freq.data(), q.blocks, kv});
    std::vector<float> out(q.high.size());
    device.run(Attention{round, shape, q.blocks, q_gate.data(), kv, scale(), out.data(), nullptr});
    device.release(memory);
    return out;
  }

  float scale() const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim))); }

  std::vector<double> prepared(const float* x, const std::vector<float>& weight, int row) const {
    const auto dim = static_cast<size_t>(shape.head_dim), half = static_cast<size_t>(shape.rotary_dim / 2);
    double ss = 0.0;
    for (size_t i = 0; i < dim; ++i) ss += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const double r = 1.0 / std::sqrt(ss / static_cast<double>(dim) + static_cast<double>(eps));
    std::vector<double> y(dim);
    for (size_t i = 0; i < dim; ++i) y[i] = static_cast<double>(x[i]) * r * static_cast<double>(weight[i]);
    for (size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(static_cast<float>(row) * inv_freq[i]);
      const double a = y[i], b = y[i + half];
      y[i] = a * std::cos(angle) - b * std::sin(angle);
      y[i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
    return y;
  }

  // fp64 result of some rows.
  std::vector<double> truth(const std::vector<int>& some) const {
    const auto dim = static_cast<size_t>(shape.head_dim), kh = static_cast<size_t>(shape.key_heads),
               qh = static_cast<size_t>(shape.query_heads);
    std::vector<std::vector<double>> keys;
    for (int j = 0; j < rows; ++j) {
      for (size_t h = 0; h < kh; ++h)
        keys.push_back(prepared(&k[(static_cast<size_t>(j) * kh + h) * dim], k_norm, j));
    }
    std::vector<double> out;
    for (const int row : some) {
      for (size_t h = 0; h < qh; ++h) {
        const float* qg = &q_gate[(static_cast<size_t>(row) * qh + h) * 2 * dim];
        const std::vector<double> q = prepared(qg, q_norm, row);
        std::vector<double> s(static_cast<size_t>(row) + 1), o(dim);
        for (size_t j = 0; j < s.size(); ++j) {
          for (size_t d = 0; d < dim; ++d) s[j] += q[d] * keys[j * kh + h / (qh / kh)][d];
          s[j] *= static_cast<double>(scale());
        }
        const double m = *std::max_element(s.begin(), s.end());
        double l = 0.0;
        for (size_t j = 0; j < s.size(); ++j) {
          const double p = std::exp(s[j] - m);
          l += p;
          for (size_t d = 0; d < dim; ++d) {
            o[d] += p * static_cast<double>(v[(j * kh + h / (qh / kh)) * dim + d]);
          }
        }
        for (size_t d = 0; d < dim; ++d)
          out.push_back(o[d] / l / (1 + std::exp(-static_cast<double>(qg[dim + d]))));
      }
    }
    return out;
  }

  int rows;
  AttentionShape shape;
  float eps = 1e-6f;
  std::vector<float> q_gate, k, v, q_norm, k_norm, inv_freq;
  std::vector<int32_t> position, row_sequence, pages;
  Sequence sequence;
  Round round;
};

std::vector<float> rows_of(const std::vector<float>& all, const std::vector<int>& some, size_t length) {
  std::vector<float> out;
  for (const int row : some) {
    const auto first = all.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(row) * length);
    out.insert(out.end(), first, first + static_cast<ptrdiff_t>(length));
  }
  return out;
}

}  // namespace

TEST_CASE("attention is within 2e-3 of fp64 for heads of 64, 128 and 256, over several spans") {
  std::mt19937 random(31);
  const auto device = open_reference();
  for (const AttentionShape shape : {AttentionShape{2, 1, 256, 64}, {4, 2, 128, 32}, {2, 2, 64, 64}}) {
    for (const Kind kind : kinds) {
      Prompt prompt(600, shape, kind, random);
      const std::vector<float> out = prompt.run(*device);
      const std::vector<int> some = {0, 1, 63, 64, 255, 256, 300, 599};
      const double error = relative_error(
          rows_of(out, some, static_cast<size_t>(shape.query_heads * shape.head_dim)), prompt.truth(some));
      INFO("head of " << shape.head_dim << ", " << name_of(kind) << ": " << error);
      CHECK(error < 2e-3);
    }
  }
}

TEST_CASE("a void value, key or query reaches exactly the rows that see it") {
  const AttentionShape shape{2, 1, 64, 16};
  const int bad = 70;
  for (const int what : {0, 1, 2}) {
    std::mt19937 random(32);
    const auto device = open_reference();
    Prompt prompt(150, shape, Kind::normal, random);
    const std::vector<float> clean = prompt.run(*device);
    if (what == 0) prompt.q_gate[static_cast<size_t>((bad * 2 + 1) * 2 * 64 + 5)] = std::nanf("");
    if (what == 1) prompt.k[static_cast<size_t>(bad * 64 + 5)] = std::numeric_limits<float>::infinity();
    if (what == 2) prompt.v[static_cast<size_t>(bad * 64 + 5)] = std::nanf("");
    const std::vector<float> out = prompt.run(*device);
    for (int row = 0; row < 150; ++row) {
      for (int i = 0; i < 128; ++i) {
        const bool hit = what == 0 ? row == bad && i >= 64 : row >= bad;
        const size_t at = static_cast<size_t>(row * 128 + i);
        if (hit) {
          REQUIRE(std::isnan(out[at]));
        } else {
          REQUIRE(canon::bits_of(out[at]) == canon::bits_of(clean[at]));
        }
      }
    }
  }
}
