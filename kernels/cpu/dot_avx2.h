// Exact products of blocks for attention: AVX2. dot_avx512.h has the same words and says why two sums
// suffice. Both are 16-bit products here (vpmaddwd): a sum of two is below 2^30, and adding wraps as it may.
#pragma once

#include "kernels/cpu/vector_avx2.h"

namespace lockstep::kernels::cpu::avx2 {

using TileHigh = int16_t;  // h of a tile's numbers, in the tile's order

inline constexpr int row_tile = 2;  // rows and tiles that the registers hold at once
inline constexpr int column_tile = 1;
inline constexpr int ahead_lines = 1;  // cache lines that a step of column_tile tiles may fetch ahead
inline constexpr int step = 2;         // numbers of a step

// Rows that meet the tiles. Every two numbers of a row are 8 bytes: two words q, then two words h.
constexpr int row_bytes(int k) { return 4 * k; }

inline int32_t row_start(Ints) { return 0; }

// High parts of n numbers of tiles, n a multiple of 64.
inline void make_tile_high(const int16_t* tile, TileHigh* high, int n) {
  const __m256i half = _mm256_set1_epi16(128);
  for (int i = 0; i < n; i += 16) {
    _mm256_storeu_si256(at(high + i),
                        _mm256_srai_epi16(_mm256_add_epi16(_mm256_loadu_si256(at(tile + i)), half), 8));
  }
}

// Writes 16 numbers q of a row, from number i on. Returns their high parts.
inline Ints store_row_part(uint8_t* row, int i, Ints q) {
  const Ints h = shift_right<8>(q + broadcast(int32_t{128}));
  int16_t words[lanes], high[lanes];
  store_words(words, q);
  store_words(high, h);
  const __m256i w0 = _mm256_loadu_si256(at(words)), h0 = _mm256_loadu_si256(at(high));
  const __m256i a = _mm256_unpacklo_epi32(w0, h0), b = _mm256_unpackhi_epi32(w0, h0);
  _mm256_storeu_si256(at(row + row_bytes(i)), _mm256_permute2x128_si256(a, b, 0x20));
  _mm256_storeu_si256(at(row + row_bytes(i) + 32), _mm256_permute2x128_si256(a, b, 0x31));
  return h;
}

inline __m256i two_words(const uint8_t* p) {
  int32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return _mm256_set1_epi32(x);
}

// out(r, v, F): F of row r with each lane of tile v, over k numbers (a multiple of 4). Tiles are `stride`
// numbers apart in both forms, rows `row_stride` bytes. A step fetches ahead_lines from `ahead` on, which
// then moves by ahead_step bytes.
template <int R, int V, class Out>
inline void dot_tiles(const int16_t* tile, const TileHigh* high, int, int k, const uint8_t* row,
                      int row_stride, const int32_t*, const char* ahead, int64_t ahead_step, const Out& out) {
  static_assert(V == 1);
  __m256i s[R][2], hh[R][2];
  each<R>([&](auto r) __attribute__((always_inline)) {
    s[r][0] = s[r][1] = hh[r][0] = hh[r][1] = _mm256_setzero_si256();
  });
  const int64_t apart = row_stride;
  for (int i = 0; i < k; i += step) {
    _mm_prefetch(ahead, _MM_HINT_T0);
    ahead += ahead_step;
    each<R>([&](auto r) __attribute__((always_inline)) {
      const __m256i x = two_words(row + r * apart), y = two_words(row + r * apart + 4);
      each<2>([&](auto j) __attribute__((always_inline)) {
        s[r][j] = _mm256_add_epi32(s[r][j], _mm256_madd_epi16(x, _mm256_loadu_si256(at(tile, j))));
        hh[r][j] = _mm256_add_epi32(hh[r][j], _mm256_madd_epi16(y, _mm256_loadu_si256(at(high, j))));
      });
    });
    tile += 32;
    high += 32;
    row += 8;
  }
  each<R>([&](auto r) __attribute__((always_inline)) {
    const Ints hr{hh[r][0], hh[r][1]}, rest = Ints{s[r][0], s[r][1]} - shift_left<16>(hr);
    out(r, 0, fma(broadcast(65536.0f), to_floats(hr), to_floats(rest)));
  });
}

// Writes the low 16 bits of each lane to every second number of 32: the even ones (0) or the odd ones (1).
inline void store_every_second(int16_t* pair, int which, Ints x) {
  const __m256i a = _mm256_loadu_si256(at(pair)), b = _mm256_loadu_si256(at(pair, 1));
  if (which == 0) {
    _mm256_storeu_si256(at(pair), _mm256_blend_epi16(a, x.a, 0x55));
    _mm256_storeu_si256(at(pair, 1), _mm256_blend_epi16(b, x.b, 0x55));
  } else {
    _mm256_storeu_si256(at(pair), _mm256_blend_epi16(a, _mm256_slli_epi32(x.a, 16), 0xaa));
    _mm256_storeu_si256(at(pair, 1), _mm256_blend_epi16(b, _mm256_slli_epi32(x.b, 16), 0xaa));
  }
}

}  // namespace lockstep::kernels::cpu::avx2
