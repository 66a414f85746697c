#include <immintrin.h>

#include "kernels/bench/probe.h"

namespace lockstep::kernels {
namespace {

uint64_t read(const uint8_t* data, size_t bytes) {
  const auto at = [&](int i) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(data) + i); };
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  for (const uint8_t* end = data + bytes; data < end; data += 256) {
    a = _mm256_add_epi64(_mm256_add_epi64(a, at(0)), at(1));
    b = _mm256_add_epi64(_mm256_add_epi64(b, at(2)), at(3));
    c = _mm256_add_epi64(_mm256_add_epi64(c, at(4)), at(5));
    d = _mm256_add_epi64(_mm256_add_epi64(d, at(6)), at(7));
  }
  const __m256i all = _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d));
  return static_cast<uint64_t>(_mm256_extract_epi64(all, 0) + _mm256_extract_epi64(all, 1) +
                               _mm256_extract_epi64(all, 2) + _mm256_extract_epi64(all, 3));
}

// Products alone: a result replaces its input, so that nothing has to be added.
uint32_t multiply(int64_t instructions) {
  const __m256i y = _mm256_set1_epi16(static_cast<int16_t>(instructions));
  __m256i s0 = y, s1 = y, s2 = y, s3 = y, s4 = y, s5 = y, s6 = y, s7 = y;
  for (int64_t i = 0; i < instructions; i += 16) {
    for (int twice = 0; twice < 2; ++twice) {
      s0 = _mm256_madd_epi16(s0, y), s1 = _mm256_madd_epi16(s1, y), s2 = _mm256_madd_epi16(s2, y);
      s3 = _mm256_madd_epi16(s3, y), s4 = _mm256_madd_epi16(s4, y), s5 = _mm256_madd_epi16(s5, y);
      s6 = _mm256_madd_epi16(s6, y), s7 = _mm256_madd_epi16(s7, y);
      // Equal products must not be taken for one.
      asm volatile("" : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7));
    }
  }
  const __m256i s = _mm256_xor_si256(_mm256_xor_si256(_mm256_xor_si256(s0, s1), _mm256_xor_si256(s2, s3)),
                                     _mm256_xor_si256(_mm256_xor_si256(s4, s5), _mm256_xor_si256(s6, s7)));
  return static_cast<uint32_t>(_mm256_extract_epi32(s, 0));
}

}  // namespace

const Probe& probe_avx2() {
  static constexpr Probe probe{"vpmaddwd ymm", 16, read, multiply};
  return probe;
}

}  // namespace lockstep::kernels
