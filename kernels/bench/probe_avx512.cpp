#include <immintrin.h>

#include "kernels/bench/probe.h"

namespace lockstep::kernels {
namespace {

uint64_t read(const uint8_t* data, size_t bytes) {
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (const uint8_t* end = data + bytes; data < end; data += 256) {
    a = _mm512_add_epi64(a, _mm512_load_si512(data));
    b = _mm512_add_epi64(b, _mm512_load_si512(data + 64));
    c = _mm512_add_epi64(c, _mm512_load_si512(data + 128));
    d = _mm512_add_epi64(d, _mm512_load_si512(data + 192));
  }
  return static_cast<uint64_t>(
      _mm512_reduce_add_epi64(_mm512_add_epi64(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d))));
}

uint32_t multiply(int64_t instructions) {
  const __m512i x = _mm512_set1_epi32(static_cast<int32_t>(instructions)), y = _mm512_set1_epi8(3);
  __m512i s0 = x, s1 = x, s2 = x, s3 = x, s4 = x, s5 = x, s6 = x, s7 = x;
  __m512i t0 = y, t1 = y, t2 = y, t3 = y, t4 = y, t5 = y, t6 = y, t7 = y;
  for (int64_t i = 0; i < instructions; i += 16) {
    s0 = _mm512_dpbusd_epi32(s0, x, y), s1 = _mm512_dpbusd_epi32(s1, x, y);
    s2 = _mm512_dpbusd_epi32(s2, x, y), s3 = _mm512_dpbusd_epi32(s3, x, y);
    s4 = _mm512_dpbusd_epi32(s4, x, y), s5 = _mm512_dpbusd_epi32(s5, x, y);
    s6 = _mm512_dpbusd_epi32(s6, x, y), s7 = _mm512_dpbusd_epi32(s7, x, y);
    t0 = _mm512_dpbusd_epi32(t0, x, y), t1 = _mm512_dpbusd_epi32(t1, x, y);
    t2 = _mm512_dpbusd_epi32(t2, x, y), t3 = _mm512_dpbusd_epi32(t3, x, y);
    t4 = _mm512_dpbusd_epi32(t4, x, y), t5 = _mm512_dpbusd_epi32(t5, x, y);
    t6 = _mm512_dpbusd_epi32(t6, x, y), t7 = _mm512_dpbusd_epi32(t7, x, y);
    // Equal sums must not be taken for one.
    asm volatile("" : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7));
    asm volatile("" : "+v"(t0), "+v"(t1), "+v"(t2), "+v"(t3), "+v"(t4), "+v"(t5), "+v"(t6), "+v"(t7));
  }
  const __m512i s = _mm512_add_epi32(_mm512_add_epi32(_mm512_add_epi32(s0, s1), _mm512_add_epi32(s2, s3)),
                                     _mm512_add_epi32(_mm512_add_epi32(s4, s5), _mm512_add_epi32(s6, s7)));
  const __m512i t = _mm512_add_epi32(_mm512_add_epi32(_mm512_add_epi32(t0, t1), _mm512_add_epi32(t2, t3)),
                                     _mm512_add_epi32(_mm512_add_epi32(t4, t5), _mm512_add_epi32(t6, t7)));
  return static_cast<uint32_t>(_mm512_reduce_add_epi32(_mm512_add_epi32(s, t)));
}

}  // namespace

const Probe& probe_avx512() {
  static constexpr Probe probe{"vpdpbusd zmm", 32, read, multiply};
  return probe;
}

}  // namespace lockstep::kernels
