// Codes of a packed matrix (matrix.h) on AVX2: unpacking, and exact products with q. codes_avx512.h has the
// same words.
#pragma once

#include <utility>

#include "kernels/cpu/linear.h"
#include "kernels/cpu/vector_avx2.h"

namespace lockstep::kernels::cpu::avx2 {

using Bytes = __m256i;  // a part of a unit: 8 outputs
// Of the type that the products give: GCC keeps a sum of another type in two registers.
using Sums = int32_t __attribute__((vector_size(32)));
using Words = int16_t __attribute__((vector_size(32)));
inline constexpr int parts = 2;

inline Bytes load_part(const uint8_t* p) { return _mm256_loadu_si256(at(p)); }
template <int left>
inline Bytes shift(Bytes x) {  // crosses bytes: to be masked
  if constexpr (left > 0) return _mm256_slli_epi16(x, left);
  if constexpr (left < 0) return _mm256_srli_epi16(x, -left);
  return x;
}
inline Bytes masked(Bytes x, int mask) {
  return _mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(mask)));
}
inline Bytes joined(Bytes low, Bytes high, int mask) { return _mm256_or_si256(low, masked(high, mask)); }

}  // namespace lockstep::kernels::cpu::avx2

#include "kernels/cpu/codes.inl"

namespace lockstep::kernels::cpu::avx2 {

// Rows and tiles whose sums the registers hold in products of bytes.
inline constexpr int few_rows = 2;
inline constexpr int few_tiles = 1;
inline constexpr int dense_rows = 4;  // of bf16 weights

inline __m256i broadcast_dword(const void* p) {
  int32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return _mm256_set1_epi32(x);
}

// Units whose maddubs results add up in 16 bits: each is at most 2 * (2^bits - 1) * 128.
template <int bits>
inline constexpr int units_in_words = bits <= 4   ? 8
                                      : bits == 5 ? 4
                                      : bits == 6 ? 2
                                                  : 1;

// Unit u of up to 6 bits: adds the products of high and low bytes of each row.
template <int bits, int u, int... r>
[[gnu::always_inline]] inline void add_unit(Words* high, Words* low, const uint8_t* codes,
                                            const InputRow* row, int from, std::integer_sequence<int, r...>) {
  const Bytes w = unit<bits, u>(codes);
  ((high[r] += (Words)_mm256_maddubs_epi16(w, broadcast_dword(row[r].high + from + 4 * u)),
    low[r] += (Words)_mm256_maddubs_epi16(w, broadcast_dword(row[r].low + from + 4 * u))),
   ...);
}

// d += the sums over the units first + k, of up to 6 bits.
template <int bits, int first, int... r, int... k>
[[gnu::always_inline]] inline void add_units(Sums* d, const uint8_t* codes, const InputRow* row, int from,
                                             std::integer_sequence<int, r...> rows,
                                             std::integer_sequence<int, k...>) {
  Words high[sizeof...(r)] = {}, low[sizeof...(r)] = {};
  (add_unit<bits, first + k>(high, low, codes, row, from, rows), ...);
  const __m256i one = _mm256_set1_epi16(1), high_one = _mm256_set1_epi16(256);
  ((d[r] +=
    (Sums)_mm256_madd_epi16((__m256i)high[r], high_one) + (Sums)_mm256_madd_epi16((__m256i)low[r], one)),
   ...);
}

// The same for unit u of 8 bits. Two products with high bytes fit 16 bits (2 * 255 * 64), two with low bytes
// do not: even and odd ones are summed apart.
template <int u, int... r>
[[gnu::always_inline]] inline void add_wide_unit(Sums* d, const uint8_t* codes, const InputRow* row, int from,
                                                 std::integer_sequence<int, r...>) {
  const Bytes w = unit<8, u>(codes);
  const __m256i even = _mm256_set1_epi16(255), one = _mm256_set1_epi16(1), high_one = _mm256_set1_epi16(256);
  const auto add = [&](Sums sum, __m256i high, __m256i low) __attribute__((always_inline)) {
    const __m256i x = _mm256_maddubs_epi16(w, high);
    const __m256i y = _mm256_maddubs_epi16(w, _mm256_and_si256(even, low));
    const __m256i z = _mm256_maddubs_epi16(w, _mm256_andnot_si256(even, low));
    return sum + (Sums)_mm256_madd_epi16(x, high_one) +
           ((Sums)_mm256_madd_epi16(y, one) + (Sums)_mm256_madd_epi16(z, one));
  };
  ((d[r] =
        add(d[r], broadcast_dword(row[r].high + from + 4 * u), broadcast_dword(row[r].low + from + 4 * u))),
   ...);
}

template <int bits, class Rows, int... k>
[[gnu::always_inline]] inline void add_chunk(Sums* d, const uint8_t* codes, const InputRow* row, int from,
                                             Rows rows, std::integer_sequence<int, k...>) {
  if constexpr (bits == 8) {
    (add_wide_unit<k>(d, codes, row, from, rows), ...);
  } else {
    constexpr int step = units_in_words<bits>;
    (add_units<bits, k * step>(d, codes, row, from, rows, std::make_integer_sequence<int, step>{}), ...);
  }
}

// d[r] = sum of code*q of each output of a tile over one group of `inputs`, which begins at input `from` of
// the rows. Not inlined: the caller's values would push these out of the registers.
template <int bits, int tiles, int rows>
[[gnu::noinline]] void dot_group(const uint8_t* codes, size_t, int inputs, const InputRow* row, int from,
                                 Ints* d) {
  constexpr std::make_integer_sequence<int, 8 / units_in_words<bits>> steps{};
  for (int part = 0; part < parts; ++part) {
    Sums sums[rows] = {};
    const uint8_t* p = codes + 32 * part;
    for (int at = 0; at < inputs; at += chunk_inputs, p += 64 * bits)
      add_chunk<bits>(sums, p, row, from + at, std::make_integer_sequence<int, rows>{}, steps);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) (part == 0 ? d[r].a : d[r].b) = (__m256i)sums[r];
  }
}

// Sixteen scales or biases in fp32. Converting is exact.
inline Floats load_scales(const uint8_t* p, ScaleType type) {
  if (type == ScaleType::fp32) return load(reinterpret_cast<const float*>(p));
  const __m256i words = _mm256_loadu_si256(at(p));
  const __m128i a = _mm256_castsi256_si128(words), b = _mm256_extracti128_si256(words, 1);
  if (type == ScaleType::fp16) return {_mm256_cvtph_ps(a), _mm256_cvtph_ps(b)};
  return {as_floats(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16)),
          as_floats(_mm256_slli_epi32(_mm256_cvtepu16_epi32(b), 16))};
}

// bf16 weights of a part of a tile: the first or second of each pair of inputs, in fp32.
using Numbers = __m256;
inline Numbers load_dense(const uint8_t* p, bool second) {
  const __m256i x = _mm256_loadu_si256(at(p));
  return as_floats(second ? _mm256_and_si256(x, _mm256_set1_epi32(-65536)) : _mm256_slli_epi32(x, 16));
}
inline Numbers multiply_add(Numbers w, float x, Numbers sum) {
  return _mm256_fmadd_ps(w, _mm256_set1_ps(x), sum);
}
inline Floats tile_numbers(const Numbers* part) { return {part[0], part[1]}; }

// Rows and tiles whose sums the registers hold in products of 16-bit words.
inline constexpr int word_rows = 5;
inline constexpr int many_from = 3;  // rows from which unpacking to words is the quicker way
inline constexpr int word_tiles = 1;

// A part of a tile's pair of inputs as words, for multiply_words: dword o has the two codes of output o.
inline void store_words(int16_t* first, int16_t* second, Bytes w, int part) {
  const __m256i pick = _mm256_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1,  //
                                        0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
  _mm256_store_si256(at(first, part), _mm256_shuffle_epi8(w, pick));
  _mm256_store_si256(at(second, part), _mm256_shuffle_epi8(_mm256_srli_epi32(w, 16), pick));
}
inline Sums multiply_words(Sums sum, const int16_t* codes, Bytes q) {
  return (Sums)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16(_mm256_load_si256(at(codes)), q));
}
inline Ints tile_sums(const Sums* part) { return {(__m256i)part[0], (__m256i)part[1]}; }
// Sixteen numbers q.
inline void store_q(int16_t* to, const int8_t* high, const int8_t* low) {
  const __m256i h = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)));
  const __m256i l = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low)));
  _mm256_storeu_si256(at(to), _mm256_add_epi16(_mm256_slli_epi16(h, 8), l));
}

}  // namespace lockstep::kernels::cpu::avx2
