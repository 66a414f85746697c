#include "engine/cache/prompt_cache.h"

#include <algorithm>

namespace lockstep::engine {
namespace {

constexpr size_t most_thrown_out = 256;  // that are remembered
constexpr uint64_t seed = 0xcbf29ce484222325ULL;

uint64_t extend(uint64_t hash, int32_t token) {
  hash = (hash ^ static_cast<uint32_t>(token)) * 0x100000001b3ULL;
  return hash ^ hash >> 29;
}

}  // namespace

PromptCache::PromptCache(PagePool& pages, std::vector<int> slots, int most_pages)
    : pages_(pages), free_slots_(std::move(slots)), most_pages_(most_pages), holds_(pages.size(), 0) {}

uint64_t PromptCache::hash(std::span<const int32_t> tokens) {
  uint64_t value = seed;
  for (int32_t token : tokens) value = extend(value, token);
  return value;
}

const PromptCache::Entry* PromptCache::look(std::span<const int32_t> prefix, uint64_t prefix_hash) const {
  const auto same_length = index_.find(prefix.size());
  if (same_length == index_.end()) return nullptr;
  const auto [first, last] = same_length->second.equal_range(prefix_hash);
  for (auto at = first; at != last; ++at)
    if (std::ranges::equal(at->second->tokens, prefix)) return &*at->second;
  return nullptr;
}

bool PromptCache::has(std::span<const int32_t> tokens) const { return look(tokens, hash(tokens)) != nullptr; }

const PromptCache::Entry* PromptCache::find(std::span<const int32_t> tokens) {
  const Entry* best = nullptr;
  uint64_t value = seed;
  size_t hashed = 0;
  for (const auto& [length, entries] : index_) {  // lengths rise
    if (length >= tokens.size()) break;
    while (hashed < length) value = extend(value, tokens[hashed++]);
    if (const Entry* entry = look(tokens.first(length), value)) best = entry;
  }
  if (!best) {
    ++counts_.misses;
    return nullptr;
  }
  ++counts_.hits;
  counts_.reused_tokens += best->tokens.size();
  const auto at = std::ranges::find_if(entries_, [&](const Entry& entry) { return &entry == best; });
  entries_.splice(entries_.begin(), entries_, at);
  return best;
}

PromptCache::Stop PromptCache::why(std::span<const int32_t> tokens, int known) {
  using Why = Stop::Why;
  const size_t end = tokens.size() - 1, from = known;
  if (from >= end) return {Why::whole};
  Stop stop{Why::fresh};
  uint64_t value = seed;
  size_t hashed = 0;
  for (const auto& [length, thrown_hash] : std::multimap(thrown_out_.begin(), thrown_out_.end())) {
    if (length > end) break;
    while (hashed < length) value = extend(value, tokens[hashed++]);
    if (length > from && value == thrown_hash) stop = {Why::evicted, static_cast<int>(length)};
  }
  if (stop.why == Why::fresh)
    for (const Entry& entry : entries_) {
      const auto differ = std::ranges::mismatch(entry.tokens, tokens).in1;
      const auto same = static_cast<int>(differ - entry.tokens.begin());
      if (differ != entry.tokens.end() && same > std::max(known, stop.at)) stop = {Why::differs, same};
    }
  ++(stop.why == Why::fresh     ? counts_.ended_new
     : stop.why == Why::differs ? counts_.ended_differs
                                : counts_.ended_evicted);
  return stop;
}

int PromptCache::make_room(std::span<const int32_t> pages) {
  if (static_cast<int>(pages.size()) > most_pages_) return -1;
  const auto fits = [&] {
    const auto more = std::ranges::count_if(pages, [&](int32_t page) { return holds_[page] == 0; });
    return !free_slots_.empty() && pages_held_ + more <= most_pages_;
  };
  while (!fits())
    if (!evict()) return -1;
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void PromptCache::add(std::span<const int32_t> tokens, std::span<const int32_t> pages, int slot,
                      bool border) {
  pages_.share(pages);
  for (int32_t page : pages) pages_held_ += holds_[page]++ == 0;
  entries_.push_front({{tokens.begin(), tokens.end()}, {pages.begin(), pages.end()}, slot, border});
  index_[tokens.size()].emplace(hash(tokens), entries_.begin());
  ++counts_.stored;
}

bool PromptCache::evict() {
  if (entries_.empty()) return false;
  auto victim = std::prev(entries_.end());
  for (auto at = entries_.rbegin(); at != entries_.rend(); ++at)
    if (!at->border) {
      victim = std::prev(at.base());
      break;
    }
  thrown_out_.emplace_back(victim->tokens.size(), hash(victim->tokens));
  if (thrown_out_.size() > most_thrown_out) thrown_out_.pop_front();
  const auto same_length = index_.find(victim->tokens.size());
  std::erase_if(same_length->second, [&](const auto& item) { return item.second == victim; });
  if (same_length->second.empty()) index_.erase(same_length);
  free_slots_.push_back(victim->slot);
  for (int32_t page : victim->pages) pages_held_ -= --holds_[page] == 0;
  pages_.give_back(victim->pages);
  entries_.erase(victim);
  ++counts_.evicted;
  return true;
}

}  // namespace lockstep::engine
