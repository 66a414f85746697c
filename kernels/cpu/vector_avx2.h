// Sixteen lanes of fp32 or int32 for the CPU operations: AVX2, two halves of eight. vector_avx512.h has the
// same words. Included only by *_avx2.cpp, before the .inl files that are written in these words.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/canon/base.h"

#define LOCKSTEP_ISA avx2

namespace lockstep::kernels::cpu::avx2 {

inline constexpr int lanes = 16;

// f(0), f(1), ... f(n-1) with constants, so that an array indexed by them stays in registers.
template <int n, class F>
[[gnu::always_inline]] inline void each(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, n>{});
}

struct Floats {
  __m256 a, b;
};
struct Ints {
  __m256i a, b;
};
struct Mask {  // all bits of a lane, or none
  __m256i a, b;
};

inline __m256i as_ints(__m256 x) { return _mm256_castps_si256(x); }
inline __m256 as_floats(__m256i x) { return _mm256_castsi256_ps(x); }
inline __m256i* at(void* p, int half = 0) { return static_cast<__m256i*>(p) + half; }
inline const __m256i* at(const void* p, int half = 0) { return static_cast<const __m256i*>(p) + half; }

inline Mask first_lanes(int n) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return {_mm256_cmpgt_epi32(_mm256_set1_epi32(n), index),
          _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), index)};
}
inline uint32_t bits(Mask m) {
  return static_cast<uint32_t>(_mm256_movemask_ps(as_floats(m.a))) |
         static_cast<uint32_t>(_mm256_movemask_ps(as_floats(m.b))) << 8;
}
inline bool any(Mask m) { return bits(m) != 0; }
inline Mask operator|(Mask x, Mask y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
inline Mask operator&(Mask x, Mask y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }

// Asks for n numbers that will be read soon.
inline void prefetch(const float* p, int n) {
  for (int i = 0; i < n; i += lanes) _mm_prefetch(reinterpret_cast<const char*>(p + i), _MM_HINT_T0);
}

inline Floats broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Floats load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, Floats x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
// The first n lanes; the others are 0, or are left as they are in memory.
inline Floats load(const float* p, int n) {
  const Mask m = first_lanes(n);
  return {_mm256_maskload_ps(p, m.a), _mm256_maskload_ps(p + 8, m.b)};
}
inline void store(float* p, Floats x, int n) {
  const Mask m = first_lanes(n);
  _mm256_maskstore_ps(p, m.a, x.a);
  _mm256_maskstore_ps(p + 8, m.b, x.b);
}

inline Floats operator+(Floats x, Floats y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline Floats operator-(Floats x, Floats y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline Floats operator*(Floats x, Floats y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline Floats operator/(Floats x, Floats y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline Floats operator-(Floats x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(x.a, sign), _mm256_xor_ps(x.b, sign)};
}
inline Floats fma(Floats x, Floats y, Floats z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
inline Floats magnitude(Floats x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
// x > y ? x : y, so that a NaN in x is ignored.
inline Floats larger(Floats x, Floats y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
// x < y ? x : y.
inline Floats smaller(Floats x, Floats y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }

template <int how>
inline Mask compare(Floats x, Floats y) {
  return {as_ints(_mm256_cmp_ps(x.a, y.a, how)), as_ints(_mm256_cmp_ps(x.b, y.b, how))};
}
inline Mask operator>(Floats x, Floats y) { return compare<_CMP_GT_OQ>(x, y); }
inline Mask operator<(Floats x, Floats y) { return compare<_CMP_LT_OQ>(x, y); }
inline Mask operator==(Floats x, Floats y) { return compare<_CMP_EQ_OQ>(x, y); }
inline Mask is_nan(Floats x) { return compare<_CMP_UNORD_Q>(x, x); }
inline Floats select(Mask m, Floats yes, Floats no) {
  return {_mm256_blendv_ps(no.a, yes.a, as_floats(m.a)), _mm256_blendv_ps(no.b, yes.b, as_floats(m.b))};
}

inline Ints broadcast(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline Ints load(const int32_t* p) { return {_mm256_loadu_si256(at(p)), _mm256_loadu_si256(at(p, 1))}; }
inline void store(int32_t* p, Ints x) {
  _mm256_storeu_si256(at(p), x.a);
  _mm256_storeu_si256(at(p, 1), x.b);
}
inline Ints operator+(Ints x, Ints y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
inline Ints operator-(Ints x, Ints y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
inline Ints operator&(Ints x, Ints y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
inline Ints larger(Ints x, Ints y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
template <int n>
inline Ints shift_left(Ints x) {
  return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)};
}
template <int n>
inline Ints shift_right(Ints x) {  // of signed numbers: rounds down
  return {_mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n)};
}
inline Mask operator==(Ints x, Ints y) {
  return {_mm256_cmpeq_epi32(x.a, y.a), _mm256_cmpeq_epi32(x.b, y.b)};
}
inline Mask operator>(Ints x, Ints y) { return {_mm256_cmpgt_epi32(x.a, y.a), _mm256_cmpgt_epi32(x.b, y.b)}; }
inline Ints select(Mask m, Ints yes, Ints no) {
  return {_mm256_blendv_epi8(no.a, yes.a, m.a), _mm256_blendv_epi8(no.b, yes.b, m.b)};
}

inline Floats to_floats(Ints x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
inline Ints to_ints(Floats x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }  // ties to even
inline Ints bits_of(Floats x) { return {as_ints(x.a), as_ints(x.b)}; }
inline Floats floats_of(Ints x) { return {as_floats(x.a), as_floats(x.b)}; }

// x * 2^n for whole n in [-252, 254], rounded once for |x| in [0.5, 2]: two factors, the first product exact.
inline Floats scale_by_power(Floats x, Floats n) {
  const Ints k = to_ints(n), half = shift_right<1>(k), bias = broadcast(127);
  return (x * floats_of(shift_left<23>(half + bias))) * floats_of(shift_left<23>((k - half) + bias));
}

// The low bytes of 16 lanes, in order.
inline __m128i pack_bytes(Ints x) {
  const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i both = _mm256_unpacklo_epi32(_mm256_shuffle_epi8(x.a, pick), _mm256_shuffle_epi8(x.b, pick));
  // Halves: lanes 0..3 and 8..11; lanes 4..7 and 12..15.
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
}
inline void store_bytes(int8_t* p, Ints x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), pack_bytes(x)); }
inline Ints load_bytes(const int8_t* p) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(x, x))};
}
// The low 16 bits of each lane.
inline void store_words(int16_t* p, Ints x) {
  const __m256i low = _mm256_set1_epi32(0xffff);
  const __m256i both = _mm256_packus_epi32(_mm256_and_si256(x.a, low), _mm256_and_si256(x.b, low));
  _mm256_storeu_si256(at(p), _mm256_permute4x64_epi64(both, _MM_SHUFFLE(3, 1, 2, 0)));
}

// Lane t + lane t^8, then t^4, t^2, t^1: the last four folds of the canon's 32 strands.
inline float fold(Floats x) {
  const __m256 h = _mm256_add_ps(x.a, x.b);
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}
inline float largest(Floats x) {  // of lanes that are not NaN
  const __m256 h = _mm256_max_ps(x.a, x.b);
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}
inline int32_t largest(Ints x) {
  const __m256i h = _mm256_max_epi32(x.a, x.b);
  const __m128i q = _mm_max_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
  const __m128i d = _mm_max_epi32(q, _mm_shuffle_epi32(q, _MM_SHUFFLE(1, 0, 3, 2)));
  return _mm_cvtsi128_si32(_mm_max_epi32(d, _mm_shuffle_epi32(d, _MM_SHUFFLE(2, 3, 0, 1))));
}
inline int32_t total(Ints x) {
  const __m256i h = _mm256_add_epi32(x.a, x.b);
  const __m128i q = _mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
  const __m128i d = _mm_add_epi32(q, _mm_shuffle_epi32(q, _MM_SHUFFLE(1, 0, 3, 2)));
  return _mm_cvtsi128_si32(_mm_add_epi32(d, _mm_shuffle_epi32(d, _MM_SHUFFLE(2, 3, 0, 1))));
}

}  // namespace lockstep::kernels::cpu::avx2
