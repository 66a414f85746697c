// Sums of products of bytes: V_DOT4C_I32_I8 (RDNA2 ISA 12.7) and V_WMMA_I32_16X16X16_IU8 (RDNA3 ISA 7.9 and
// 16.10; RDNA4 ISA 7.12). A matrix of bytes has a row of A or a column of B in each lane.
//   RDNA3: lanes 16 to 31 repeat lanes 0 to 15 and hold all 16 k; sum r, lane l is row 2 r + l / 16.
//   RDNA4: lane l holds k 8 (l / 16) to +7; sum r, lane l is row r + 8 (l / 16).
// The sum's column is l % 16.
#include <immintrin.h>

#include "tests/rdna/lane_loops.h"

namespace lockstep::rdna {

namespace {

constexpr auto dot4 = [](uint32_t a, uint32_t b, uint32_t sum) {
  for (int k = 0; k < 32; k += 8) {
    const int32_t x = static_cast<int32_t>(a << (24 - k)) >> 24,
                  y = static_cast<int32_t>(b << (24 - k)) >> 24;
    sum += static_cast<uint32_t>(x * y);
  }
  return sum;
};

// Two neighbouring bytes as two 16-bit numbers; `second` takes bytes 2 and 3.
uint32_t two_numbers(uint32_t word, bool second, bool is_signed) {
  const uint32_t low = word >> (second ? 16 : 0) & 0xff, high = word >> (second ? 24 : 8) & 0xff;
  const auto wide = [is_signed](uint32_t byte) {
    return is_signed ? static_cast<uint16_t>(static_cast<int16_t>(static_cast<int8_t>(byte)))
                     : static_cast<uint16_t>(byte);
  };
  return wide(low) | static_cast<uint32_t>(wide(high)) << 16;
}

// pair[p][i]: k 2 p and 2 p + 1 of row or column i.
void read_matrix(const Wave& w, const Source& s, bool is_signed, bool repeated, uint32_t (*pair)[16]) {
  for (int p = 0; p < 8; ++p) {
    const int word = repeated ? p / 2 : p % 4 / 2, first = repeated || p < 4 ? 0 : 16;
    for (int i = 0; i < 16; ++i) pair[p][i] = two_numbers(w.v[s.reg + word][first + i], p % 2, is_signed);
  }
  if (!repeated) return;
  for (int word = 0; word < 4; ++word) {
    for (int i = 0; i < 16; ++i) {
      if (w.v[s.reg + word][i] != w.v[s.reg + word][i + 16])
        throw Fault("has other bytes in lane " + std::to_string(i + 16) + " than in lane " +
                    std::to_string(i));
    }
  }
}

void multiply(Wave& w, const Instruction& i) {
  if (w.active() != all_lanes) throw Fault("multiplies matrices with lanes inactive");
  const bool repeated = w.chip->generation == Generation::rdna3;
  alignas(64) uint32_t a[8][16], b[8][16], sums[16][16];
  read_matrix(w, i.source[0], i.immediate & 1, repeated, a);
  read_matrix(w, i.source[1], i.immediate & 2, repeated, b);
  for (int row = 0; row < 16; ++row) {
    __m256i left = _mm256_setzero_si256(), right = left;
    for (int p = 0; p < 8; ++p) {
      const __m256i x = _mm256_set1_epi32(static_cast<int>(a[p][row]));
      const auto* y = reinterpret_cast<const __m256i*>(b[p]);
      left = _mm256_add_epi32(left, _mm256_madd_epi16(x, y[0]));
      right = _mm256_add_epi32(right, _mm256_madd_epi16(x, y[1]));
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums[row]), left);
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums[row] + 8), right);
  }
  uint32_t out[8][lanes], room[row_words];
  for (int r = 0; r < 8; ++r) {
    const Source& s = i.source[2];
    const uint32_t* start = s.kind == Source::vector ? w.v[s.reg + r] : fetch(w, s, room);
    for (int l = 0; l < lanes; ++l) {
      const int row = repeated ? 2 * r + l / 16 : r + 8 * (l / 16);
      out[r][l] = start[l] + sums[row][l % 16];
    }
  }
  for (int r = 0; r < 8; ++r) store_row(w, i.target + r, out[r], all_lanes);
}

const Entry entries[] = {
    {.mnemonic = "v_dot4c_i32_i8", .run = each_lane<dot4>, .form = Form::accumulate, .kind = Kind::dot},
    {.mnemonic = "v_wmma_i32_16x16x16_iu8", .run = multiply, .kind = Kind::matrix, .whole = true},
};

}  // namespace

std::span<const Entry> matrix_entries() { return entries; }

}  // namespace lockstep::rdna
