// Runs a piece of work on the reference and on every CPU implementation and compares all that it recorded,
// bit for bit but for the kind of a NaN.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/canon/base.h"
#include "kernels/kernels.h"
#include "tests/catch.h"

namespace lockstep::kernels::test {

// Results in the order they were recorded.
class Record {
 public:
  void floats(const std::string& name, const std::vector<float>& x) {
    std::vector<uint32_t> bits(x.size());
    for (size_t i = 0; i < x.size(); ++i) bits[i] = canon::is_nan(x[i]) ? 0x7fc00000u : canon::bits_of(x[i]);
    parts_.push_back({name, std::move(bits)});
  }
  template <class T>
  void numbers(const std::string& name, const std::vector<T>& x) {
    parts_.push_back({name, std::vector<uint32_t>(x.begin(), x.end())});
  }
  // The first difference in words, or nothing.
  std::string difference(const Record& wanted) const {
    if (parts_.size() != wanted.parts_.size()) return "different lists of results";
    for (size_t p = 0; p < parts_.size(); ++p) {
      const auto &got = parts_[p].bits, &want = wanted.parts_[p].bits;
      if (got.size() != want.size()) return parts_[p].name + " differs in size";
      for (size_t i = 0; i < got.size(); ++i) {
        if (got[i] == want[i]) continue;
        return parts_[p].name + "[" + std::to_string(i) + "] of " + std::to_string(got.size()) + ": " +
               std::to_string(got[i]) + ", wanted " + std::to_string(want[i]) + " (" +
               std::to_string(canon::float_of(got[i])) + ", " + std::to_string(canon::float_of(want[i])) +
               ")";
      }
    }
    return "";
  }

 private:
  struct Part {
    std::string name;
    std::vector<uint32_t> bits;
  };
  std::vector<Part> parts_;
};

// work(device, random, record), with the same random numbers each time.
template <class Work>
void same_on_all(unsigned seed, const Work& work) {
  Record wanted;
  {
    const auto reference = open_device("reference");
    std::mt19937 random(seed);
    work(*reference, random, wanted);
  }
  for (const std::string& name : implementations()) {
    if (name.rfind("cpu-", 0) != 0) continue;
    for (const int threads : {1, 3}) {
      INFO(name << ", threads " << threads << ", seed " << seed);
      const auto device = open_device(name, threads);
      std::mt19937 random(seed);
      Record got;
      work(*device, random, got);
      CHECK(got.difference(wanted) == "");
    }
  }
}

// Numbers of either sign and of sizes that differ by up to 2^spread.
inline std::vector<float> numbers(std::mt19937& random, size_t n, int spread = 6, float size = 1.0f) {
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<float> x(n);
  for (float& v : x)
    v = size * unit(random) *
        canon::power_of_two(-static_cast<int>(random() % static_cast<unsigned>(spread + 1)));
  return x;
}

// Overwrites some of x: zeros, infinities, NaN, denormals, the largest and the smallest numbers.
inline void plant(std::mt19937& random, std::vector<float>& x, int how_many, bool non_finite = true) {
  const float odd[] = {0.0f,
                       -0.0f,
                       1e-40f,
                       -1e-45f,
                       3.4e38f,
                       -3.4e38f,
                       1.2e-38f,
                       canon::infinity(),
                       -canon::infinity(),
                       canon::quiet_nan()};
  for (int i = 0; i < how_many; ++i) x[random() % x.size()] = odd[random() % (non_finite ? 10 : 7)];
}

inline constexpr float poison = -1.6180339e-7f;  // what outputs hold before

// Blocks with their memory.
struct OwnBlocks {
  OwnBlocks(int rows, int length, int group, bool sums = true)
      : high(static_cast<size_t>(rows) * static_cast<size_t>(length), 99),
        low(high),
        multiplier(high.size() / static_cast<size_t>(group), poison),
        sum(multiplier) {
    blocks = {high.data(), low.data(), multiplier.data(), sums ? sum.data() : nullptr, length, group};
  }
  OwnBlocks(const OwnBlocks&) = delete;
  void record(Record& record, const std::string& name) const {
    record.numbers(name + ".high", high);
    record.numbers(name + ".low", low);
    record.floats(name + ".multiplier", multiplier);
    record.floats(name + ".sum", sum);
  }

  std::vector<int8_t> high, low;
  std::vector<float> multiplier, sum;
  Blocks blocks;
};

// Rows of several lanes, with page tables out of order.
class Lanes {
 public:
  Lanes(std::mt19937& random, int lanes, int pages_of_lane)
      : pages_of_lane_(pages_of_lane), position_(static_cast<size_t>(lanes), 0) {
    pages.resize(static_cast<size_t>(lanes * pages_of_lane));
    for (size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<int32_t>(i);
    for (size_t i = pages.size(); i > 1; --i) std::swap(pages[i - 1], pages[random() % i]);
  }

  // The next round: rows[lane] more rows of each lane, 0 for none. Slots of lanes run backwards.
  Round next(const std::vector<int>& rows, bool keep = true) {
    sequences.clear();
    positions.clear();
    row_sequence.clear();
    int most = 0;
    for (size_t lane = 0; lane < rows.size(); ++lane) {
      if (rows[lane] == 0) continue;
      sequences.push_back({static_cast<int32_t>(positions.size()), rows[lane], position_[lane],
                           static_cast<int32_t>(lane) * pages_of_lane_,
                           static_cast<int32_t>(position_.size() - 1 - lane), keep ? rows[lane] : 0});
      for (int i = 0; i < rows[lane]; ++i) {
        positions.push_back(position_[lane] + i);
        row_sequence.push_back(static_cast<int32_t>(sequences.size()) - 1);
      }
      if (keep) position_[lane] += rows[lane];
      most = std::max(most, rows[lane]);
    }
    Round round;
    round.rows = static_cast<int>(positions.size());
    round.sequences = static_cast<int>(sequences.size());
    round.sequence = sequences.data();
    round.position = positions.data();
    round.row_sequence = row_sequence.data();
    round.pages = pages.data();
    round.most_rows = most;
    round.most_positions = *std::max_element(positions.begin(), positions.end()) + 1;
    return round;
  }
  int length(size_t lane) const { return position_[lane]; }
  void advance(size_t lane, int rows) { position_[lane] += rows; }

  std::vector<int32_t> pages;
  std::vector<Sequence> sequences;
  std::vector<int32_t> positions, row_sequence;

 private:
  int pages_of_lane_;
  std::vector<int32_t> position_;
};

}  // namespace lockstep::kernels::test
