#include "kernels/contract/stage.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "kernels/canon/blocks.h"

namespace lockstep::kernels::contract {

namespace {

constexpr size_t guard = 64;          // bytes on each side; keeps the alignment of device memory
constexpr uint8_t guard_byte = 0xff;  // NaN in floats: a result that read it shows
constexpr uint8_t poison_byte = 0xcb;

uint32_t word_at(const std::vector<uint8_t>& bytes, size_t at) {
  uint32_t word;
  std::memcpy(&word, &bytes[at], sizeof word);
  return word;
}

bool same_float(uint32_t a, uint32_t b) {
  return a == b || (canon::is_nan(canon::float_of(a)) && canon::is_nan(canon::float_of(b)));
}

std::string describe(const Array& got, size_t row, size_t offset, uint32_t g, uint32_t w) {
  char text[160];
  if (got.floats) {
    std::snprintf(text, sizeof text, " row %zu element %zu: %a (%08x), expected %a (%08x)", row, offset / 4,
                  static_cast<double>(canon::float_of(g)), g, static_cast<double>(canon::float_of(w)), w);
  } else {
    std::snprintf(text, sizeof text, " row %zu byte %zu: %02x, expected %02x", row, offset, g, w);
  }
  return got.name + text;
}

std::string row_difference(const Array& got, size_t got_row, const Array& want, size_t want_row) {
  if (got.row_bytes != want.row_bytes) return got.name + ": rows of another size";
  if (got.row_bytes == 0) return "";
  const size_t a = got_row * got.row_bytes, b = want_row * want.row_bytes;
  if (std::memcmp(&got.bytes[a], &want.bytes[b], got.row_bytes) == 0) return "";
  for (size_t i = 0; i < got.row_bytes; i += got.floats ? 4 : 1) {
    const uint32_t g = got.floats ? word_at(got.bytes, a + i) : got.bytes[a + i];
    const uint32_t w = got.floats ? word_at(want.bytes, b + i) : want.bytes[b + i];
    if (got.floats ? !same_float(g, w) : g != w) return describe(got, got_row, i, g, w);
  }
  return "";
}

}  // namespace

Array& Results::array(const std::string& name) {
  const auto found =
      std::find_if(arrays.begin(), arrays.end(), [&](const Array& array) { return array.name == name; });
  if (found == arrays.end()) throw std::logic_error("no output named " + name);
  return *found;
}

std::string difference(const Results& got, const Results& want) {
  if (!got.problems.empty()) return got.problems.front();
  for (size_t i = 0; i < want.arrays.size(); ++i) {
    for (size_t row = 0; row < want.arrays[i].rows; ++row) {
      const std::string text = row_difference(got.arrays[i], row, want.arrays[i], row);
      if (!text.empty()) return text;
    }
  }
  return "";
}

std::string difference_of_rows(const Results& alone, const Results& round, const std::vector<int>& rows) {
  if (!alone.problems.empty()) return alone.problems.front();
  for (size_t i = 0; i < alone.arrays.size(); ++i) {
    if (!alone.arrays[i].row_wise) continue;
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::string text =
          row_difference(alone.arrays[i], row, round.arrays[i], static_cast<size_t>(rows[row]));
      if (!text.empty()) return text + " (alone, against its row in the round)";
    }
  }
  return "";
}

Stage::~Stage() {
  for (const Region& region : regions_) device_.release(region.memory);
}

void* Stage::add(Use use, size_t rows, size_t row_bytes, const void* data) {
  const size_t bytes = rows * row_bytes;
  Region region{
      std::move(use), rows, row_bytes, nullptr, std::vector<uint8_t>(bytes + 2 * guard, guard_byte), true};
  if (data) {
    if (bytes) std::memcpy(&region.image[guard], data, bytes);
  } else {
    std::fill_n(region.image.begin() + guard, bytes, poison_byte);
  }
  region.memory = device_.allocate(region.image.size());
  device_.upload(region.memory, region.image.data(), region.image.size());
  regions_.push_back(std::move(region));
  return static_cast<uint8_t*>(regions_.back().memory) + guard;
}

void* Stage::scratch(size_t bytes) {
  const std::vector<uint8_t> fill(bytes, 0xff);
  void* memory = add({"scratch", false, false, false}, 1, bytes, fill.data());
  regions_.back().compared = false;
  return memory;
}

Blocks Stage::output_blocks(int rows, int length, int group, bool sums) {
  Blocks blocks;
  blocks.high = output<int8_t>("high", rows, length);
  blocks.low = output<int8_t>("low", rows, length);
  blocks.multiplier = output<float>("multiplier", rows, length / group);
  if (sums) blocks.sum = output<float>("sum", rows, length / group);
  blocks.length = length;
  blocks.group = group;
  return blocks;
}

Blocks Stage::input_blocks(const std::vector<float>& x, int rows, int length, int group, bool sums) {
  std::vector<int8_t> high(x.size()), low(x.size());
  std::vector<float> multiplier(x.size() / static_cast<size_t>(group)), sum(multiplier.size());
  for (size_t block = 0; block < multiplier.size(); ++block) {
    const size_t first = block * static_cast<size_t>(group);
    multiplier[block] = canon::make_block(&x[first], group, &high[first], &low[first], &sum[block]);
  }
  if (x.size() != static_cast<size_t>(rows) * static_cast<size_t>(length))
    throw std::logic_error("shape of blocks");
  Blocks blocks;
  // The operations take the same struct for reading and writing.
  blocks.high = const_cast<int8_t*>(input(high));
  blocks.low = const_cast<int8_t*>(input(low));
  blocks.multiplier = const_cast<float*>(input(multiplier));
  if (sums) blocks.sum = const_cast<float*>(input(sum));
  blocks.length = length;
  blocks.group = group;
  return blocks;
}

void Stage::check_guards(const Region& region, const std::vector<uint8_t>& now,
                         std::vector<std::string>& problems) const {
  const size_t end = now.size() - guard;
  const auto intact = [&](size_t from, size_t to) {
    return std::memcmp(&now[from], &region.image[from], to - from) == 0;
  };
  const std::string name = region.use.constant ? "an input" : region.use.name;
  if (!intact(0, guard)) problems.push_back(name + ": written before its start");
  if (!intact(end, now.size())) problems.push_back(name + ": written past its end");
  if (region.use.constant && end > guard && !intact(guard, end))
    problems.push_back("an input was written to");
}

Results Stage::finish() {
  device_.wait();
  Results results;
  for (const Region& region : regions_) {
    std::vector<uint8_t> now(region.image.size());
    device_.download(now.data(), region.memory, now.size());
    check_guards(region, now, results.problems);
    if (region.use.constant || !region.compared) continue;
    results.arrays.push_back({region.use.name, region.use.floats, region.use.row_wise, region.rows,
                              region.row_bytes,
                              std::vector<uint8_t>(now.begin() + guard, now.end() - guard)});
  }
  return results;
}

}  // namespace lockstep::kernels::contract
