// Exact products of blocks for attention: AVX-512 with VNNI. dot_avx2.h has the same words.
//
// F(S) = fma(65536, HH, fma(256, HL+LH, LL)) needs two numbers: HH, the sum of high*high, and
// T = 256*(HL+LH) + LL, which fits 32 bits (up to 509 products) and whose conversion rounds as the inner fma
// does. With q = 256*h + l, T is S - 65536*HH, all modulo 2^32. So the 16-bit q itself (vpdpwssd, two
// products a lane) and a second form with high bytes (vpdpbusd, four products a lane) are all it takes.
#pragma once

#include "kernels/cpu/vector_avx512.h"

namespace lockstep::kernels::cpu::avx512 {

// High bytes of a tile: h + 64, unsigned, the four of a lane in the order 0, 2, 1, 3.
using TileHigh = uint8_t;
inline constexpr int row_tile = 6;  // rows and tiles that the registers hold at once
inline constexpr int column_tile = 2;
inline constexpr int ahead_lines = 4;  // cache lines that a step of column_tile tiles may fetch ahead
inline constexpr int step = 4;         // numbers of a step

// Rows that meet the tiles. Every four numbers of a row are 12 bytes: four words q, then their h in the order
// of TileHigh.
constexpr int row_bytes(int k) { return 3 * k; }

// What the sum of high bytes starts at, to take back the 64 that TileHigh adds.
inline int32_t row_start(Ints high) { return -64 * total(high); }

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

// Writes 16 numbers q of a row, from number i on. Returns their high parts.
inline Ints store_row_part(uint8_t* row, int i, Ints q) {
  // Bytes 0 to 31: the words; 64 to 79: the high bytes.
  const __m512i order =
      _mm512_setr_epi32(0x03020100, 0x07060504, 0x43414240, 0x0b0a0908, 0x0f0e0d0c, 0x47454644, 0x13121110,
                        0x17161514, 0x4b494a48, 0x1b1a1918, 0x1f1e1d1c, 0x4f4d4e4c, 0, 0, 0, 0);
  const Ints h = shift_right<8>(q + broadcast(int32_t{128}));
  const __m512i words = _mm512_castsi256_si512(_mm512_cvtepi32_epi16(q.v));
  const __m512i high = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(h.v));
  _mm512_mask_storeu_epi8(row + row_bytes(i), 0xffffffffffffu, _mm512_permutex2var_epi8(words, order, high));
  return h;
}

// sums[v] += tiles[v] * the same four bytes at p for every lane, as two words or four bytes. In assembly so
// that one register serves all broadcasts: left to itself GCC 12 gives each its own and spills the sums.
template <int V>
inline void add_words(__m512i* sum, const __m512i* tile, const uint8_t* p) {
  const auto& memory = *reinterpret_cast<const uint8_t(*)[4]>(p);
  if constexpr (V == 2) {
    __m512i x;
    asm("vpbroadcastd %5, %2\n\tvpdpwssd %2, %3, %0\n\tvpdpwssd %2, %4, %1"
        : "+v"(sum[0]), "+v"(sum[1]), "=&v"(x)
        : "v"(tile[0]), "v"(tile[1]), "m"(memory));
  } else {
    asm("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(sum[0]) : "v"(tile[0]), "m"(memory));
  }
}
template <int V>
inline void add_bytes(__m512i* sum, const __m512i* tile, const uint8_t* p) {
  const auto& memory = *reinterpret_cast<const uint8_t(*)[4]>(p);
  if constexpr (V == 2) {
    __m512i x;
    asm("vpbroadcastd %5, %2\n\tvpdpbusd %2, %3, %0\n\tvpdpbusd %2, %4, %1"
        : "+v"(sum[0]), "+v"(sum[1]), "=&v"(x)
        : "v"(tile[0]), "v"(tile[1]), "m"(memory));
  } else {
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum[0]) : "v"(tile[0]), "m"(memory));
  }
}

// out(r, v, F): F of row r with each lane of tile v, over k numbers (a multiple of 4). Tiles are `stride`
// numbers apart in both forms, rows `row_stride` bytes. A step fetches ahead_lines from `ahead` on, which
// then moves by ahead_step bytes.
template <int R, int V, class Out>
inline void dot_tiles(const int16_t* tile, const TileHigh* high, int stride, int k, const uint8_t* row,
                      int row_stride, const int32_t* start, const char* ahead, int64_t ahead_step,
                      const Out& out) {
  __m512i s[R][V], hh[R][V];
  each<R>([&](auto r) __attribute__((always_inline)) {
    each<V>([&](auto v) __attribute__((always_inline)) {
      s[r][v] = _mm512_setzero_si512();
      hh[r][v] = _mm512_set1_epi32(start[r]);
    });
  });
  const int64_t apart = row_stride;
  const uint8_t* lower = row;  // rows 0 to 2
  const uint8_t* upper = row + 3 * apart;
  for (int i = 0; i < k; i += step) {
    each<ahead_lines>([&](auto n)
                          __attribute__((always_inline)) { _mm_prefetch(ahead + 64 * n, _MM_HINT_T0); });
    ahead += ahead_step;
    __m512i a[V], b[V], h[V];
    each<V>([&](auto v) __attribute__((always_inline)) {
      a[v] = _mm512_loadu_si512(tile + v * stride);
      b[v] = _mm512_loadu_si512(tile + v * stride + 32);
      h[v] = _mm512_loadu_si512(high + v * stride);
    });
    const auto at = [&](int r) __attribute__((always_inline)) {
      return r < 3 ? lower + r * apart : upper + (r - 3) * apart;
    };
    each<R>([&](auto r) __attribute__((always_inline)) { add_words<V>(s[r], a, at(r)); });
    each<R>([&](auto r) __attribute__((always_inline)) { add_bytes<V>(hh[r], h, at(r) + 8); });
    each<R>([&](auto r) __attribute__((always_inline)) { add_words<V>(s[r], b, at(r) + 4); });
    tile += 64;
    high += 64;
    lower += 12;
    upper += 12;
  }
  each<R>([&](auto r) __attribute__((always_inline)) {
    each<V>([&](auto v) __attribute__((always_inline)) {
      const Ints rest{_mm512_sub_epi32(s[r][v], _mm512_slli_epi32(hh[r][v], 16))};
      out(r, v, fma(broadcast(65536.0f), to_floats(Ints{hh[r][v]}), to_floats(rest)));
    });
  });
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
