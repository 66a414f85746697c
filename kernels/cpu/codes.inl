// Unpacks units of codes (matrix.h). Included by codes_avx2.h and codes_avx512.h after their words for bytes.

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

// f(0), f(1), … f(n-1), each with a compile-time number.
template <int n, class F>
[[gnu::always_inline]] inline void repeat(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, n>{});
}

// Unit u of a chunk: codes one a byte. Codes point to the chunk, or to the wanted part's bytes in its first
// vector.
template <int bits, int u>
[[gnu::always_inline]] inline Bytes unit(const uint8_t* codes) {
  constexpr int nibble = -4 * (u % 2), pair = 2 * (u % 4);
  const auto vector = [&](int v) __attribute__((always_inline)) { return load_part(codes + 64 * v); };
  if constexpr (bits == 8) return vector(u);
  if constexpr (bits == 4) return masked(shift<nibble>(vector(u / 2)), 15);
  if constexpr (bits == 2) return masked(shift<-pair>(vector(u / 4)), 3);
  if constexpr (bits == 6)
    return joined(masked(shift<nibble>(vector(u / 2)), 15), shift<4 - pair>(vector(4 + u / 4)), 48);
  if constexpr (bits == 5)
    return joined(masked(shift<nibble>(vector(u / 2)), 15), shift<4 - u>(vector(4)), 16);
  if constexpr (bits == 3) return joined(masked(shift<-pair>(vector(u / 4)), 3), shift<2 - u>(vector(2)), 4);
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
