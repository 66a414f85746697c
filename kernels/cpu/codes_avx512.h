// Codes of a packed matrix (matrix.h) on AVX-512 with VNNI: unpacking, and exact products with q.
// codes_avx2.h has the same words.
#pragma once

#include <utility>

#include "kernels/cpu/linear.h"
#include "kernels/cpu/vector_avx512.h"

namespace lockstep::kernels::cpu::avx512 {

using Bytes = __m512i;  // a part of a unit: all 16 outputs
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

inline constexpr int few_rows = 8;

inline __m512i broadcast_dword(const void* p) {
  int32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return _mm512_set1_epi32(x);
}

// d[r] = sum of code*q of each output over one group of `inputs`, which begins at input `from` of the rows.
template <int bits, int rows>
inline void dot_group(const uint8_t* codes, int inputs, const InputRow* row, int from, Ints* d) {
  constexpr int chains = rows == 1 ? 2 : 1;  // a single sum would wait for itself
  __m512i h[rows * chains], l[rows * chains];
  repeat<rows * chains>([&](auto i) { h[i] = l[i] = _mm512_setzero_si512(); });
  for (int at = 0; at < inputs; at += chunk_inputs, codes += 64 * bits) {
    repeat<8>([&](auto u) {
      const Bytes w = unit<bits, u>(codes);
      repeat<rows>([&](auto r) {
        constexpr int i = r * chains + u % chains;
        h[i] = _mm512_dpbusd_epi32(h[i], w, broadcast_dword(row[r].high + from + at + 4 * u));
        l[i] = _mm512_dpbusd_epi32(l[i], w, broadcast_dword(row[r].low + from + at + 4 * u));
      });
    });
  }
  repeat<rows>([&](auto r) {
    if constexpr (chains == 2) {
      h[r] = _mm512_add_epi32(h[2 * r], h[2 * r + 1]);
      l[r] = _mm512_add_epi32(l[2 * r], l[2 * r + 1]);
    }
    d[r] = {_mm512_add_epi32(_mm512_slli_epi32(h[r], 8), l[r])};
  });
}

// Sixteen scales or biases in fp32. Converting is exact.
inline Floats load_scales(const uint8_t* p, ScaleType type) {
  if (type == ScaleType::fp32) return load(reinterpret_cast<const float*>(p));
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if (type == ScaleType::fp16) return {_mm512_cvtph_ps(words)};
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16))};
}

// A vector of bf16 weights: the 16 first or second inputs in fp32.
inline Floats load_dense(const uint8_t* p, bool second) {
  const __m512i x = _mm512_loadu_si512(p);
  return {_mm512_castsi512_ps(second ? _mm512_and_si512(x, _mm512_set1_epi32(-65536))
                                     : _mm512_slli_epi32(x, 16))};
}

// Rows and tiles whose sums the registers hold in products of 16-bit words.
inline constexpr int word_rows = 6;
inline constexpr int many_from = 12;  // rows from which unpacking to words is the quicker way
inline constexpr int word_tiles = 4;

// A tile's pair of inputs as words, for multiply_words: dword o has the two codes of output o.
inline void store_words(int16_t* first, int16_t* second, Bytes w, int) {
  const __m512i pick =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
  _mm512_store_si512(first, _mm512_shuffle_epi8(w, pick));
  _mm512_store_si512(second, _mm512_shuffle_epi8(_mm512_srli_epi32(w, 16), pick));
}
inline Ints multiply_words(Ints sum, const int16_t* codes, Ints q) {
  return {_mm512_dpwssd_epi32(sum.v, _mm512_load_si512(codes), q.v)};
}
// Sixteen numbers q.
inline void store_q(int16_t* to, const int8_t* high, const int8_t* low) {
  const __m256i h = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)));
  const __m256i l = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_add_epi16(_mm256_slli_epi16(h, 8), l));
}

}  // namespace lockstep::kernels::cpu::avx512
