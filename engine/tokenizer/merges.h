// Byte pair encoding: merges of neighbouring tokens, most frequent first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lockstep::engine {

struct Merge {
  int32_t left, right, joined;
};

// Threads: const members may be called from any thread.
class MergeTable {
 public:
  // `merges` in order of rank, no pair twice; `byte_tokens`: the token of each byte.
  MergeTable(std::vector<Merge> merges, const std::array<int32_t, 256>& byte_tokens);

  // Appends the word's tokens: starting from bytes, the applicable merge of lowest rank (of equal ones the
  // leftmost) is applied until none is left. O(n log n) time, constant stack.
  void encode(std::string_view word, std::vector<int32_t>& tokens) const;

 private:
  struct Slot {
    uint64_t pair;  // left << 32 | right; free when joined < 0
    uint32_t rank;
    int32_t joined;
  };
  struct Symbol;

  static uint64_t pair(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  const Slot* find(int32_t left, int32_t right) const {
    const uint64_t key = pair(left, right);
    for (size_t at = (key * 0x9E3779B97F4A7C15u) >> shift_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.joined < 0) return nullptr;
      if (slot.pair == key) return &slot;
    }
  }
  void encode_short(std::string_view word, std::vector<int32_t>& tokens) const;
  void encode_long(std::string_view word, std::vector<int32_t>& tokens) const;

  std::array<int32_t, 256> byte_tokens_;
  std::vector<Merge> merges_;  // by rank
  std::vector<Slot> slots_;    // hash table by pair, linear probing
  size_t mask_;
  int shift_;
};

}  // namespace lockstep::engine
