// Norm, gather, router, experts and candidates on the CPU against the reference.
#include <algorithm>

#include "tests/kernels/cpu/same_bits.h"

namespace lockstep::kernels::test {
namespace {

void run_norm(unsigned seed, int rows, int length, int group, bool add, bool out, int planted) {
  INFO("rows " << rows << ", length " << length << ", group " << group);
  same_on_all(seed, [&](Device& device, std::mt19937& random, Record& record) {
    const auto n = static_cast<size_t>(rows) * static_cast<size_t>(length);
    auto x = numbers(random, n), more = numbers(random, n);
    const auto weight = numbers(random, static_cast<size_t>(length), 1);
    if (planted) plant(random, x, planted, seed % 2 == 0);
    const int stride = length + 5;
    std::vector<float> y(static_cast<size_t>(rows * stride), poison);
    OwnBlocks blocks(rows, length, group ? group : length);
    device.run(Norm{rows, length, x.data(), add ? more.data() : nullptr, weight.data(), 1e-6f,
                    out ? y.data() : nullptr, stride, group ? &blocks.blocks : nullptr});
    record.floats("x", x);
    record.floats("y", y);
    blocks.record(record, "blocks");
  });
}

}  // namespace

TEST_CASE("CPU norm: lengths, additions and blocks") {
  unsigned seed = 100;
  for (const int length : {1, 15, 16, 31, 33, 48, 100, 512, 1000}) {
    run_norm(++seed, 3, length, 0, length % 3 != 0, true, 0);
  }
  for (const int group : {32, 64, 128}) {
    for (const int length : {128, 640, 2560}) {
      run_norm(++seed, 1, length, group, true, true, 0);
      run_norm(++seed, 40, length, group, false, false, 0);
      run_norm(++seed, 9, length, group, true, false, 20);
    }
  }
}

TEST_CASE("CPU gather") {
  same_on_all(200, [](Device& device, std::mt19937& random, Record& record) {
    for (const int length : {1, 100, 5120}) {
      const auto x = numbers(random, static_cast<size_t>(7 * length));
      const std::vector<int32_t> row = {6, 0, 3, 3, 5, 1, 1, 6, 2, 4};
      std::vector<float> y(static_cast<size_t>(11 * length), poison);
      device.run(Gather{10, length, row.data(), x.data(), y.data()});
      record.floats("y", y);
    }
  });
}

TEST_CASE("CPU router: ties, NaN and every size") {
  for (const int kind : {0, 1, 2, 3}) {
    same_on_all(300 + static_cast<unsigned>(kind), [&](Device& device, std::mt19937& random, Record& record) {
      for (const int experts : {1, 8, 16, 60, 128, 256, 513}) {
        for (const int top : {1, 2, 8, 10}) {
          if (top > experts) continue;
          const int rows = 33;
          auto logits = numbers(random, static_cast<size_t>(rows * experts));
          if (kind == 1) {
            for (float& l : logits)
              l = static_cast<float>(static_cast<int>(random() % 5) - 2) * (random() % 2 ? 1.0f : -0.0f);
          }
          if (kind >= 2) plant(random, logits, 20, kind == 3);
          std::vector<int32_t> expert(static_cast<size_t>(rows * top), -7);
          std::vector<float> weight(expert.size(), poison);
          device.run(Router{rows, experts, top, logits.data(), expert.data(), weight.data()});
          record.numbers("expert", expert);
          record.floats("weight", weight);
        }
      }
    });
  }
}

TEST_CASE("CPU combining experts") {
  for (const bool planted : {false, true}) {
    same_on_all(400, [&](Device& device, std::mt19937& random, Record& record) {
      for (const int rows : {1, 5, 40}) {
        for (const int length : {7, 128, 1000}) {
          const int top = rows == 5 ? 1 : 8;
          const auto n = static_cast<size_t>(rows * length);
          auto routed = numbers(random, n * static_cast<size_t>(top)), shared = numbers(random, n);
          const auto weight = numbers(random, static_cast<size_t>(rows * top)),
                     gate = numbers(random, static_cast<size_t>(rows), 2, 8.0f);
          if (planted) plant(random, routed, 30);
          std::vector<float> y(n + 20, poison);
          device.run(CombineExperts{rows, top, length, routed.data(), weight.data(), shared.data(),
                                    gate.data(), y.data()});
          record.floats("y", y);
        }
      }
    });
  }
}

namespace {

void run_candidates(Device& device, Record& record, int rows, int count, const std::vector<float>& logits) {
  const auto n = static_cast<size_t>(rows * count);
  std::vector<int32_t> id(n, -7), finite(static_cast<size_t>(rows), -7);
  std::vector<float> logit(n, poison), maximum(static_cast<size_t>(rows), poison), log_sum(maximum);
  const int vocabulary = static_cast<int>(logits.size()) / rows;
  device.run(Candidates{rows, vocabulary, count, logits.data(), id.data(), logit.data(), maximum.data(),
                        log_sum.data(), finite.data()});
  record.numbers("finite", finite);
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    if (finite[row] == 1) continue;
    std::fill_n(id.begin() + static_cast<ptrdiff_t>(row) * count, count, 0);  // unspecified
    std::fill_n(logit.begin() + static_cast<ptrdiff_t>(row) * count, count, 0.0f);
    maximum[row] = log_sum[row] = 0.0f;
  }
  record.numbers("id", id);
  record.floats("logit", logit);
  record.floats("maximum", maximum);
  record.floats("log_sum", log_sum);
}

}  // namespace

TEST_CASE("CPU candidates: vocabularies and counts") {
  same_on_all(500, [](Device& device, std::mt19937& random, Record& record) {
    for (const int vocabulary : {1, 5, 16, 33, 300, 2048, 16384, 16385, 40000, 151936, 248320}) {
      for (const int count : {1, 20, 256}) {
        if (count > vocabulary) continue;
        run_candidates(device, record, 2, count,
                       numbers(random, 2 * static_cast<size_t>(vocabulary), 6, 20.0f));
      }
    }
  });
}

TEST_CASE("CPU candidates: rising, falling, equal and few different logits") {
  same_on_all(510, [](Device& device, std::mt19937& random, Record& record) {
    std::vector<float> x(70000);
    const auto each = [&](const auto& f) {
      for (size_t i = 0; i < x.size(); ++i) x[i] = f(static_cast<int>(i));
      for (const int count : {1, 64, 256}) run_candidates(device, record, 1, count, x);
    };
    each([](int i) { return static_cast<float>(i) * 1e-3f; });
    each([](int i) { return static_cast<float>(-i) * 1e-3f; });
    each([](int) { return 3.0f; });
    each([&](int) { return random() % 2 ? 0.0f : -0.0f; });
    each([&](int) { return static_cast<float>(random() % 7) - 3.0f; });
    each([&](int i) { return i % 1000 == 999 ? -0.0f : i % 1000 == 500 ? 0.0f : -1.0f; });
    each([&](int) { return random() % 2 ? 1e-45f : -1e-45f; });
    each([&](int i) { return i == 69999 ? 3.4e38f : -3.4e38f; });
    each([&](int i) { return i < 100 ? 1e-45f : random() % 3 ? 0.0f : -0.0f; });
  });
}

TEST_CASE("CPU candidates: one inf or NaN anywhere is seen, other rows are not touched") {
  same_on_all(520, [](Device& device, std::mt19937& random, Record& record) {
    const size_t vocabulary = 20011;
    for (const size_t where : {size_t{0}, size_t{15}, size_t{16383}, size_t{16384}, vocabulary - 1}) {
      for (const float bad :
           {canon::infinity(), -canon::infinity(), canon::quiet_nan(), -canon::quiet_nan()}) {
        auto x = numbers(random, 3 * vocabulary);
        x[vocabulary + where] = bad;
        run_candidates(device, record, 3, 40, x);
      }
    }
  });
}

}  // namespace lockstep::kernels::test
