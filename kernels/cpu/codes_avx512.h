// Codes of a packed matrix (matrix.h) on AVX-512 with VNNI: unpacking, and exact products with q.
// codes_avx2.h has the same words.
#pragma once

#include <utility>

#include "kernels/cpu/linear.h"
#include "kernels/cpu/vector_avx512.h"

namespace lockstep::kernels::cpu::avx512 {

using Bytes = __m512i;  // a part of a unit: all 16 outputs
// Of the type that the products give: GCC keeps a sum of another type in two registers.
using Sums = int32_t __attribute__((vector_size(64)));
inline constexpr int parts = 1;

inline Bytes load_part(const uint8_t* p) { return _mm512_loadu_si512(p); }
template <int left>
inline Bytes shift(Bytes x) {  // crosses bytes: to be masked
  if constexpr (left > 0) return _mm512_slli_epi16(x, left);
  if constexpr (left < 0) return _mm512_srli_epi16(x, -left);
  return x;
}
inline Bytes masked(Bytes x, int mask) {
  return _mm512_and_si512(x, _mm512_set1_epi8(static_cast<char>(mask)));
}
inline Bytes joined(Bytes low, Bytes high, int mask) {  // low | (high & mask)
  return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(static_cast<char>(mask)), 0xf8);
}

}  // namespace lockstep::kernels::cpu::avx512

#include "kernels/cpu/codes.inl"

namespace lockstep::kernels::cpu::avx512 {

// Rows and tiles whose sums the registers hold in products of bytes.
inline constexpr int few_rows = 4;
inline constexpr int few_tiles = 2;
inline constexpr int dense_rows = 8;  // of bf16 weights

inline __m512i broadcast_dword(const void* p) {
  int32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return _mm512_set1_epi32(x);
}

inline Sums multiply_bytes(Sums sum, Bytes codes, Bytes q) {
  return (Sums)_mm512_dpbusd_epi32((__m512i)sum, codes, q);
}

// Sum i is of row i / (2*tiles), of its high or low bytes by turns, and of tile i % tiles. A single tile and
// row has two of each, which take turns: one would wait for itself.
template <int tiles, int rows>
inline constexpr int chains = tiles* rows == 1 ? 2 : 1;

template <int bits, int u, int tiles, int rows, int... i>
[[gnu::always_inline]] inline void add_unit(Sums* sums, const uint8_t* codes, size_t tile_bytes,
                                            const InputRow* row, int from, std::integer_sequence<int, i...>) {
  constexpr int turn = u % chains<tiles, rows> * 2;
  const Bytes w[] = {unit<bits, u>(codes), unit<bits, u>(codes + (tiles - 1) * tile_bytes)};
  ((sums[turn + i] = multiply_bytes(
        sums[turn + i], w[i % tiles],
        broadcast_dword((i / tiles % 2 ? row[i / tiles / 2].low : row[i / tiles / 2].high) + from + 4 * u))),
   ...);
}
template <int bits, int tiles, int rows, int... u>
[[gnu::always_inline]] inline void add_chunk(Sums* sums, const uint8_t* codes, size_t tile_bytes,
                                             const InputRow* row, int from,
                                             std::integer_sequence<int, u...>) {
  (add_unit<bits, u, tiles, rows>(sums, codes, tile_bytes, row, from,
                                  std::make_integer_sequence<int, 2 * tiles * rows>{}),
   ...);
}

// d[r][t] = sum of code*q of each output of tile t over one group of `inputs`, which begins at input `from`
// of the rows. Not inlined: the caller's values would push these out of the registers.
template <int bits, int tiles, int rows>
[[gnu::noinline]] void dot_group(const uint8_t* codes, size_t tile_bytes, int inputs, const InputRow* row,
                                 int from, Ints* d) {
  Sums sums[2 * tiles * rows * chains<tiles, rows>] = {};
  for (int at = 0; at < inputs; at += chunk_inputs, codes += 64 * bits)
    add_chunk<bits, tiles, rows>(sums, codes, tile_bytes, row, from + at,
                                 std::make_integer_sequence<int, chunk_inputs / 4>{});
  if constexpr (chains<tiles, rows> == 2) {
    sums[0] += sums[2];
    sums[1] += sums[3];
  }
#pragma GCC unroll 8
  for (int k = 0; k < tiles * rows; ++k) {
    const int high = k / tiles * 2 * tiles + k % tiles;
    d[k] = {(__m512i)((sums[high] << 8) + sums[high + tiles])};
  }
}

// Sixteen scales or biases in fp32. Converting is exact.
inline Floats load_scales(const uint8_t* p, ScaleType type) {
  if (type == ScaleType::fp32) return load(reinterpret_cast<const float*>(p));
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if (type == ScaleType::fp16) return {_mm512_cvtph_ps(words)};
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16))};
}

// bf16 weights of a part of a tile: the first or second of each pair of inputs, in fp32.
using Numbers = __m512;
inline Numbers load_dense(const uint8_t* p, bool second) {
  const __m512i x = _mm512_loadu_si512(p);
  return _mm512_castsi512_ps(second ? _mm512_and_si512(x, _mm512_set1_epi32(-65536))
                                    : _mm512_slli_epi32(x, 16));
}
inline Numbers multiply_add(Numbers w, float x, Numbers sum) {
  return _mm512_fmadd_ps(w, _mm512_set1_ps(x), sum);
}
inline Floats tile_numbers(const Numbers* part) { return {part[0]}; }

// Rows and tiles whose sums the registers hold in products of 16-bit words.
inline constexpr int word_rows = 6;
inline constexpr int many_from = 24;  // rows from which unpacking to words is the quicker way
inline constexpr int word_tiles = 4;

// A tile's pair of inputs as words, for multiply_words: dword o has the two codes of output o.
inline void store_words(int16_t* first, int16_t* second, Bytes w, int) {
  const __m512i pick =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
  _mm512_store_si512(first, _mm512_shuffle_epi8(w, pick));
  _mm512_store_si512(second, _mm512_shuffle_epi8(_mm512_srli_epi32(w, 16), pick));
}
inline Sums multiply_words(Sums sum, const int16_t* codes, Bytes q) {
  return (Sums)_mm512_dpwssd_epi32((__m512i)sum, _mm512_load_si512(codes), q);
}
inline Ints tile_sums(const Sums* part) { return {(__m512i)part[0]}; }
// Sixteen numbers q.
inline void store_q(int16_t* to, const int8_t* high, const int8_t* low) {
  const __m256i h = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)));
  const __m256i l = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_add_epi16(_mm256_slli_epi16(h, 8), l));
}

}  // namespace lockstep::kernels::cpu::avx512
