// Exact products of blocks for attention: AVX-512 with VNNI. dot_avx2.h has the same words.
//
// F(S) = fma(65536, HH, fma(256, HL+LH, LL)) needs HH = the sum of high*high and, as one number, T =
// 256*(HL+LH)
// + LL: T fits 32 bits (up to 509 products) and its conversion rounds as the inner fma does. With q = 256*h +
// l, T = S - 65536*HH, all modulo 2^32: so the 16-bit q itself (vpdpwssd, two products a lane) and a second
// form with high bytes (vpdpbusd, four products a lane) are all it takes.
#pragma once

#include "kernels/cpu/vector_avx512.h"

namespace lockstep::kernels::cpu::avx512 {

// High bytes of a tile: h + 64, unsigned, the four of a lane in the order 0, 2, 1, 3.
using TileHigh = uint8_t;
// High bytes of a row: h, in the same order.
using RowHigh = int8_t;

inline constexpr int row_tile = 6;  // rows and tiles that the registers hold at once
inline constexpr int column_tile = 2;

// One row of numbers that meets the tiles.
struct RowOperand {
  const int16_t* q;
  const RowHigh* high;
  int32_t start;     // takes back the 64 that TileHigh adds
  float multiplier;  // of the row's block
};
inline int32_t row_start(int32_t sum_of_high) { return -64 * sum_of_high; }

// High parts of n numbers of tiles, n a multiple of 64.
inline void make_tile_high(const int16_t* tile, TileHigh* high, int n) {
  const __m512i bias = _mm512_set1_epi16(64 * 256 + 128),
                upper = _mm512_set1_epi16(static_cast<int16_t>(0xff00));
  for (int i = 0; i < n; i += 64) {
    const __m512i a = _mm512_add_epi16(_mm512_loadu_si512(tile + i), bias);
    const __m512i b = _mm512_add_epi16(_mm512_loadu_si512(tile + i + 32), bias);
    _mm512_storeu_si512(high + i,
                        _mm512_ternarylogic_epi32(_mm512_srli_epi16(a, 8), b, upper, 0xf8));  // a | (b & c)
  }
}

// Sixteen numbers q of a row: 16-bit form and high form. Returns the high parts.
inline Ints store_row_part(int16_t* words, RowHigh* high, Ints q) {
  const __m128i order = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  const Ints h = shift_right<8>(q + broadcast(int32_t{128}));
  store_words(words, q);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high), _mm_shuffle_epi8(_mm512_cvtepi32_epi8(h.v), order));
  return h;
}

inline int32_t two_words(const int16_t* p) {
  int32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
inline int32_t four_bytes(const int8_t* p) {
  int32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

// out(r, v, F): F of rows[r] with each lane of tile v, over k numbers (a multiple of 4). Tiles are `stride`
// numbers apart in both forms.
template <int R, int V, class Out>
inline void dot_tiles(const int16_t* tile, const TileHigh* high, int stride, int k, const RowOperand* rows,
                      const Out& out) {
  __m512i s[R][V], hh[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      s[r][v] = _mm512_setzero_si512();
      hh[r][v] = _mm512_set1_epi32(rows[r].start);
    }
  }
  for (int i = 0; i < k; i += 4) {
    __m512i a[V], b[V], h[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      a[v] = _mm512_loadu_si512(tile + v * stride + i * 16);
      b[v] = _mm512_loadu_si512(tile + v * stride + i * 16 + 32);
      h[v] = _mm512_loadu_si512(high + v * stride + i * 16);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m512i x = _mm512_set1_epi32(two_words(rows[r].q + i));
      const __m512i y = _mm512_set1_epi32(two_words(rows[r].q + i + 2));
      const __m512i z = _mm512_set1_epi32(four_bytes(rows[r].high + i));
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        s[r][v] = _mm512_dpwssd_epi32(s[r][v], a[v], x);
        hh[r][v] = _mm512_dpbusd_epi32(hh[r][v], h[v], z);
        s[r][v] = _mm512_dpwssd_epi32(s[r][v], b[v], y);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const Ints rest{_mm512_sub_epi32(s[r][v], _mm512_slli_epi32(hh[r][v], 16))};
      out(r, v, fma(broadcast(65536.0f), to_floats(Ints{hh[r][v]}), to_floats(rest)));
    }
  }
}

// Writes the low 16 bits of each lane to every second number of 32: the even ones (0) or the odd ones (1).
inline void store_every_second(int16_t* pair, int which, Ints x) {
  if (which == 0) {
    _mm512_mask_storeu_epi16(pair, 0x55555555u, x.v);
  } else {
    _mm512_mask_storeu_epi16(pair, 0xaaaaaaaau, _mm512_slli_epi32(x.v, 16));
  }
}

}  // namespace lockstep::kernels::cpu::avx512
