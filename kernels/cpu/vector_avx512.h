// Sixteen lanes of fp32 or int32 for the CPU operations: AVX-512. vector_avx2.h has the same words.
// Included only by *_avx512.cpp, before the .inl files that are written in these words.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // the compiler's own header, "undefined" lanes (GCC 12)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/canon/base.h"

#define LOCKSTEP_ISA avx512

namespace lockstep::kernels::cpu::avx512 {

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
  __m512 v;
};
struct Ints {
  __m512i v;
};
struct Mask {
  __mmask16 v;
};

inline Mask first_lanes(int n) { return {static_cast<__mmask16>(n >= 16 ? 0xffffu : (1u << n) - 1u)}; }
inline bool any(Mask m) { return m.v != 0; }
inline uint32_t bits(Mask m) { return m.v; }
inline Mask operator|(Mask a, Mask b) { return {static_cast<__mmask16>(a.v | b.v)}; }
inline Mask operator&(Mask a, Mask b) { return {static_cast<__mmask16>(a.v & b.v)}; }

// Asks for n numbers that will be read soon.
inline void prefetch(const float* p, int n) {
  for (int i = 0; i < n; i += lanes) _mm_prefetch(reinterpret_cast<const char*>(p + i), _MM_HINT_T0);
}

inline Floats broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Floats x) { _mm512_storeu_ps(p, x.v); }
// The first n lanes; the others are 0, or are left as they are in memory.
inline Floats load(const float* p, int n) { return {_mm512_maskz_loadu_ps(first_lanes(n).v, p)}; }
inline void store(float* p, Floats x, int n) { _mm512_mask_storeu_ps(p, first_lanes(n).v, x.v); }

inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Floats operator-(Floats a) {
  return {_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(INT32_MIN)))};
}
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats magnitude(Floats a) { return {_mm512_abs_ps(a.v)}; }
// a > b ? a : b, so that a NaN in a is ignored.
inline Floats larger(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
// a < b ? a : b.
inline Floats smaller(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }

inline Mask operator>(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ)}; }
inline Mask operator<(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask operator==(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
inline Mask is_nan(Floats a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
inline Floats select(Mask m, Floats yes, Floats no) { return {_mm512_mask_blend_ps(m.v, no.v, yes.v)}; }

inline Ints broadcast(int32_t x) { return {_mm512_set1_epi32(x)}; }
inline Ints load(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
inline void store(int32_t* p, Ints x) { _mm512_storeu_si512(p, x.v); }
inline Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline Ints operator&(Ints a, Ints b) { return {_mm512_and_si512(a.v, b.v)}; }
inline Ints larger(Ints a, Ints b) { return {_mm512_max_epi32(a.v, b.v)}; }
template <int n>
inline Ints shift_left(Ints a) {
  return {_mm512_slli_epi32(a.v, n)};
}
template <int n>
inline Ints shift_right(Ints a) {  // of signed numbers: rounds down
  return {_mm512_srai_epi32(a.v, n)};
}
inline Mask operator==(Ints a, Ints b) { return {_mm512_cmpeq_epi32_mask(a.v, b.v)}; }
inline Mask operator>(Ints a, Ints b) { return {_mm512_cmpgt_epi32_mask(a.v, b.v)}; }
inline Ints select(Mask m, Ints yes, Ints no) { return {_mm512_mask_blend_epi32(m.v, no.v, yes.v)}; }

inline Floats to_floats(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline Ints to_ints(Floats a) { return {_mm512_cvtps_epi32(a.v)}; }  // nearest, ties to even
inline Ints bits_of(Floats a) { return {_mm512_castps_si512(a.v)}; }
inline Floats floats_of(Ints a) { return {_mm512_castsi512_ps(a.v)}; }

// a * 2^n for whole n, rounded once.
inline Floats scale_by_power(Floats a, Floats n) { return {_mm512_scalef_ps(a.v, n.v)}; }

// The low byte of each lane, and 16 signed bytes as lanes.
inline void store_bytes(int8_t* p, Ints x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x.v));
}
inline Ints load_bytes(const int8_t* p) {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
// The low 16 bits of each lane.
inline void store_words(int16_t* p, Ints x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x.v));
}

// Lane t + lane t^8, then t^4, t^2, t^1: the last four folds of the canon's 32 strands.
inline float fold(Floats a) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}
inline float largest(Floats a) {  // of lanes that are not NaN
  const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}
inline int32_t largest(Ints a) { return _mm512_reduce_max_epi32(a.v); }
inline int32_t total(Ints a) { return _mm512_reduce_add_epi32(a.v); }

}  // namespace lockstep::kernels::cpu::avx512
