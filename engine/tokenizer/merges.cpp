#include "engine/tokenizer/merges.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <utility>

namespace lockstep::engine {
namespace {

constexpr size_t short_word = 32;  // bytes; up to here scanning for the best merge beats a heap
constexpr uint32_t no_rank = UINT32_MAX;

}  // namespace

MergeTable::MergeTable(std::vector<Merge> merges, const std::array<int32_t, 256>& byte_tokens)
    : byte_tokens_(byte_tokens), merges_(std::move(merges)) {
  const size_t size = std::bit_ceil(std::max<size_t>(16, merges_.size() * 2));
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  slots_.assign(size, Slot{0, 0, -1});
  for (size_t rank = 0; rank < merges_.size(); ++rank) {
    const uint64_t key = pair(merges_[rank].left, merges_[rank].right);
    size_t at = (key * 0x9E3779B97F4A7C15u) >> shift_;
    while (slots_[at].joined >= 0) at = (at + 1) & mask_;
    slots_[at] = {key, static_cast<uint32_t>(rank), merges_[rank].joined};
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
  const auto count = static_cast<uint32_t>(word.size());
  std::vector<Symbol> symbols(count);
  std::vector<uint64_t> heap;  // rank << 32 | place of the left symbol; the top is the least
  for (uint32_t i = 0; i < count; ++i)
    symbols[i] = {byte_tokens_[static_cast<uint8_t>(word[i])], i - 1, i + 1};
  const auto offer = [&](uint32_t at) {
    const Slot* slot = find(symbols[at].token, symbols[symbols[at].after].token);
    if (slot) heap.push_back(static_cast<uint64_t>(slot->rank) << 32 | at);
    return slot != nullptr;
  };
  const std::greater<> later;
  for (uint32_t i = 0; i + 1 < count; ++i) offer(i);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const auto at = static_cast<uint32_t>(heap.back());
    const Merge& merge = merges_[heap.back() >> 32];
    heap.pop_back();
    Symbol& symbol = symbols[at];
    if (symbol.token != merge.left || symbol.after == count || symbols[symbol.after].token != merge.right)
      continue;  // one of the two has been merged since
    symbols[symbol.after].token = -1;
    symbol.token = merge.joined;
    symbol.after = symbols[symbol.after].after;
    if (symbol.after < count) {
      symbols[symbol.after].before = at;
      if (offer(at)) std::push_heap(heap.begin(), heap.end(), later);
    }
    if (at > 0 && offer(symbol.before)) std::push_heap(heap.begin(), heap.end(), later);
  }
  for (uint32_t i = 0; i < count; i = symbols[i].after) tokens.push_back(symbols[i].token);
}

}  // namespace lockstep::engine
