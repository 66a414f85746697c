// Loops over lanes: from a function of numbers to what runs an instruction. Each works on values as C++ types
// and lets the compiler make vector code of it.
#pragma once

#include <cstring>
#include <tuple>
#include <utility>

#include "tests/rdna/operations.h"

namespace lockstep::rdna {

constexpr int row_words = 2 * lanes;  // a source of up to 64 bits

template <class F>
struct Signature;
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<A...>;
  static constexpr size_t count = sizeof...(A);
};
template <auto f>
using SignatureOf = Signature<decltype(&decltype(f)::operator())>;

template <class T>
inline T lane_value(const uint32_t* p, int l) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(p[l] | static_cast<uint64_t>(p[l + lanes]) << 32);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<uint16_t>(p[l]));
  } else {
    return std::bit_cast<T>(p[l]);
  }
}

template <class T>
inline void put_lane(uint32_t* p, int l, T value) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<uint64_t>(value);
    p[l] = static_cast<uint32_t>(bits);
    p[l + lanes] = static_cast<uint32_t>(bits >> 32);
  } else if constexpr (sizeof(T) == 2) {
    p[l] = std::bit_cast<uint16_t>(value);
  } else {
    p[l] = std::bit_cast<uint32_t>(value);
  }
}

inline uint64_t scalar_value(const Wave& w, const Source& s) {
  if (s.kind == Source::constant) return s.value;
  if (s.kind != Source::scalar) throw Fault("an operand is missing");
  const uint32_t low = w.s[s.reg];
  return s.words == 2 ? low | static_cast<uint64_t>(w.s[s.reg + 1]) << 32 : low;
}

// The lanes of a source, high words after the low ones; `room` is used where they do not lie so already.
inline const uint32_t* fetch(const Wave& w, const Source& s, uint32_t* room) {
  if (s.kind == Source::vector) {
    const uint32_t* row = w.v[s.reg];
    if (!s.absolute && !s.negative) return row;
    const uint32_t keep = s.absolute ? 0x7fffffff : 0xffffffff, flip = s.negative ? 0x80000000 : 0;
    for (int l = 0; l < lanes; ++l) room[l] = (row[l] & keep) ^ flip;
    return room;
  }
  uint64_t value = scalar_value(w, s);
  if (s.absolute) value &= 0x7fffffff;
  if (s.negative) value ^= 0x80000000;
  for (int l = 0; l < lanes; ++l) room[l] = static_cast<uint32_t>(value);
  for (int l = lanes; l < row_words; ++l) room[l] = static_cast<uint32_t>(value >> 32);
  return room;
}

inline void store_row(Wave& w, int r, const uint32_t* row, uint32_t mask) {
  uint32_t* to = w.v[r];
  if (mask == all_lanes) {
    std::memcpy(to, row, sizeof w.v[r]);
  } else {
    for (int l = 0; l < lanes; ++l) to[l] = mask >> l & 1 ? row[l] : to[l];
  }
  w.define(r, mask);
}

// Lanes in which a source was written.
inline uint32_t written_lanes(const Wave& w, const Source& s, int words = 2) {
  uint32_t good = all_lanes;
  for (int n = 0; n < s.words && n < words; ++n) {
    if (s.kind == Source::vector) good &= w.defined[s.reg + n];
    if (s.kind == Source::scalar && !w.full.has_scalar(s.reg + n)) good = 0;
  }
  return good;
}
// Bits of a scalar source, as a mask of lanes, that were written.
inline uint32_t written_bits(const Wave& w, const Source& s) {
  return s.kind == Source::scalar ? w.scalar_bits[s.reg] : all_lanes;
}
// Lanes in which all sources were written: elsewhere the result counts as not written either, and only who
// lets it reach memory, an address, a mask or another lane is wrong. Compilers compute such values and drop
// them.
inline uint32_t written_lanes(const Wave& w, const Instruction& i, int words = 2) {
  uint32_t good = all_lanes;
  if (i.reads.within(w.full)) return good;
  for (int n = 0; n < i.sources; ++n) good &= written_lanes(w, i.source[n], words);
  return good;
}

// A target of 16 bits keeps its upper half (RDNA2 ISA 6.2.1, "16-bit operations ... preserve").
template <class R>
inline void store_lanes(Wave& w, const Instruction& i, uint32_t* out) {
  if constexpr (sizeof(R) == 2) {
    const uint32_t* old = w.v[i.target];
    for (int l = 0; l < lanes; ++l) out[l] |= old[l] & 0xffff0000;
  }
  store_row(w, i.target, out, w.active());
  if constexpr (sizeof(R) == 8) store_row(w, i.target + 1, out + lanes, w.active());
}

template <auto f, bool upward, class R, class... A, size_t... n>
inline void lane_loop(Wave& w, const Instruction& i, std::tuple<A...>*, std::index_sequence<n...>) {
  alignas(64) uint32_t room[sizeof...(A)][row_words];
  const uint32_t* const source[] = {fetch(w, i.source[n], room[n])...};
  alignas(64) uint32_t out[row_words];
  const uint32_t good = written_lanes(w, i), low = upward ? written_lanes(w, i, 1) : good;
  for (int l = 0; l < lanes; ++l) put_lane<R>(out, l, f(lane_value<A>(source[n], l)...));
  store_lanes<R>(w, i, out);
  if (good != all_lanes) {
    w.undefine(i.target, w.active() & ~low);
    if (sizeof(R) == 8) w.undefine(i.target + 1, w.active() & ~good);
  }
}

// A vector instruction that gives f of its sources in each active lane. `upward`: bits of the result depend
// on no higher ones of the sources.
template <auto f, bool upward = false>
void each_lane(Wave& w, const Instruction& i) {
  using S = SignatureOf<f>;
  if (w.active() == 0) return;
  lane_loop<f, upward, typename S::Result>(w, i, static_cast<typename S::Arguments*>(nullptr),
                                           std::make_index_sequence<S::count>());
}

template <auto f, class A, size_t... n>
inline uint32_t compared(Wave& w, const Instruction& i, std::index_sequence<n...>) {
  alignas(64) uint32_t room[sizeof...(n)][row_words];
  const uint32_t* const source[] = {fetch(w, i.source[n], room[n])...};
  alignas(64) uint32_t bit[lanes];
  for (int l = 0; l < lanes; ++l)
    bit[l] = static_cast<uint32_t>(f(lane_value<std::tuple_element_t<n, A>>(source[n], l)...)) << l;
  uint32_t mask = 0;
  for (int l = 0; l < lanes; ++l) mask |= bit[l];
  return mask & w.active();
}

// As what goes to a mask, or nowhere.
inline void store_mask(Wave& w, const Instruction& i, uint32_t mask, uint32_t good) {
  if (i.scalar_target != null && w.active() & ~good) throw Fault("makes a mask of what nobody wrote");
  w.set_scalar(i.scalar_target, mask & w.active());
}

// Comparisons: a mask of active lanes for which f holds (RDNA3 ISA 7.3: inactive lanes give 0).
template <auto f>
void each_bit(Wave& w, const Instruction& i) {
  using S = SignatureOf<f>;
  w.set_scalar(i.scalar_target,
               compared<f, typename S::Arguments>(w, i, std::make_index_sequence<S::count>()));
}

template <auto f, class... A, size_t... n>
inline auto scalar_result(Wave& w, const Instruction& i, std::tuple<Wave&, A...>*,
                          std::index_sequence<n...>) {
  return f(w, static_cast<A>(scalar_value(w, i.source[n]))...);
}

// A scalar instruction: f of the wave and its sources as unsigned numbers.
template <auto f>
void scalar_run(Wave& w, const Instruction& i) {
  using S = SignatureOf<f>;
  using Result = typename S::Result;
  auto* types = static_cast<typename S::Arguments*>(nullptr);
  constexpr auto numbers = std::make_index_sequence<S::count - 1>();
  if constexpr (std::is_void_v<Result>) {
    scalar_result<f>(w, i, types, numbers);
  } else if constexpr (sizeof(Result) == 8) {
    w.set_scalar64(i.scalar_target, std::bit_cast<uint64_t>(scalar_result<f>(w, i, types, numbers)));
  } else {
    w.set_scalar(i.scalar_target, std::bit_cast<uint32_t>(scalar_result<f>(w, i, types, numbers)));
  }
}

}  // namespace lockstep::rdna
