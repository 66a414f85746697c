#include "engine/tokenizer/merges.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace lockstep::engine {
namespace {

constexpr size_t short_word = 32;  // bytes; up to here scanning for the best merge beats a heap
constexpr uint32_t no_rank = UINT32_MAX;

}  // namespace

MergeTable::MergeTable(const std::vector<Merge>& merges, const std::array<int32_t, 256>& byte_tokens)
    : byte_tokens_(byte_tokens) {
  const size_t size = std::bit_ceil(std::max<size_t>(16, merges.size() * 2));
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  slots_.assign(size, Slot{0, 0, -1});
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const uint64_t key = pair(merges[rank].left, merges[rank].right);
    size_t at = (key * 0x9E3779B97F4A7C15u) >> shift_;
    while (slots_[at].joined >= 0) at = (at + 1) & mask_;
    slots_[at] = {key, static_cast<uint32_t>(rank), merges[rank].joined};
  }
}

void MergeTable::encode(std::string_view word, std::vector<int32_t>& tokens) const {
  if (word.size() <= short_word)
    encode_short(word, tokens);
  else
    encode_long(word, tokens);
}

void MergeTable::encode_short(std::string_view word, std::vector<int32_t>& tokens) const {
  struct {
    int32_t token;
    uint32_t rank;   // of the merge with the next symbol
    int32_t joined;  // what that merge gives
  } symbols[short_word];
  size_t count = word.size();
  const auto rate = [&](size_t i) {
    const Slot* slot = i + 1 < count ? find(symbols[i].token, symbols[i + 1].token) : nullptr;
    symbols[i].rank = slot ? slot->rank : no_rank;
    symbols[i].joined = slot ? slot->joined : -1;
  };
  for (size_t i = 0; i < count; ++i) symbols[i].token = byte_tokens_[static_cast<uint8_t>(word[i])];
  for (size_t i = 0; i < count; ++i) rate(i);
  while (true) {
    size_t best = 0;
    uint32_t rank = no_rank;
    for (size_t i = 0; i + 1 < count; ++i) {
      if (symbols[i].rank < rank) {
        rank = symbols[i].rank;
        best = i;
      }
    }
    if (rank == no_rank) break;
    symbols[best].token = symbols[best].joined;
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    --count;
    rate(best);
    if (best > 0) rate(best - 1);
  }
  for (size_t i = 0; i < count; ++i) tokens.push_back(symbols[i].token);
}

struct MergeTable::Symbol {
  int32_t token;  // -1: merged into the one before
  uint32_t before, after;
};

void MergeTable::encode_long(std::string_view word, std::vector<int32_t>& tokens) const {
  struct Candidate {
    uint32_t rank, at;
    int32_t left, right, joined;
    bool operator<(const Candidate& other) const {  // the heap's top is the lowest rank, then the leftmost
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  const auto count = static_cast<uint32_t>(word.size());
  std::vector<Symbol> symbols(count);
  std::vector<Candidate> heap;
  for (uint32_t i = 0; i < count; ++i)
    symbols[i] = {byte_tokens_[static_cast<uint8_t>(word[i])], i - 1, i + 1};
  const auto offer = [&](uint32_t at) {
    const int32_t left = symbols[at].token, right = symbols[symbols[at].after].token;
    const Slot* slot = find(left, right);
    if (slot) heap.push_back({slot->rank, at, left, right, slot->joined});
    return slot != nullptr;
  };
  for (uint32_t i = 0; i + 1 < count; ++i) offer(i);
  std::make_heap(heap.begin(), heap.end());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate top = heap.back();
    heap.pop_back();
    Symbol& symbol = symbols[top.at];
    if (symbol.token != top.left || symbol.after == count || symbols[symbol.after].token != top.right)
      continue;  // one of the two has been merged since
    symbols[symbol.after].token = -1;
    symbol.token = top.joined;
    symbol.after = symbols[symbol.after].after;
    if (symbol.after < count) {
      symbols[symbol.after].before = top.at;
      if (offer(top.at)) std::push_heap(heap.begin(), heap.end());
    }
    if (top.at > 0 && offer(symbol.before)) std::push_heap(heap.begin(), heap.end());
  }
  for (uint32_t i = 0; i < count; i = symbols[i].after) tokens.push_back(symbols[i].token);
}

}  // namespace lockstep::engine
