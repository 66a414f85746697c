#include "engine/drafts/copies.h"

#include <algorithm>

namespace lockstep::engine {
namespace {

uint64_t mix(std::span<const int32_t> tokens) {
  uint64_t hash = 0;
  for (int32_t token : tokens) hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15u;
  return hash;
}

}  // namespace

void Copies::extend(std::span<const int32_t> tokens) {
  const auto before = [&](int end) { return tokens.subspan(end - context, context); };
  for (; known_ < static_cast<int>(tokens.size()); ++known_) {
    const bool right = source_ >= 0 && tokens[source_] == tokens[known_];
    if (source_ >= 0) (match_ >= long_match ? long_ : short_).tested(right);
    if (known_ >= context) after_[mix(before(known_))] = known_;
    const int end = known_ + 1;
    if (right) {
      ++source_;
      ++match_;
      continue;
    }
    source_ = -1;
    match_ = 0;
    if (end < context) continue;
    const auto found = after_.find(mix(before(end)));
    if (found == after_.end() || !std::ranges::equal(before(found->second), before(end))) continue;
    source_ = found->second;
    while (match_ < long_match && match_ < source_ &&
           tokens[source_ - 1 - match_] == tokens[end - 1 - match_])
      ++match_;
  }
}

double Copies::chance() const {
  if (source_ < 0) return 0;
  return (match_ >= long_match ? long_ : short_).mean();
}

std::vector<int32_t> Copies::guess(std::span<const int32_t> tokens, int count) const {
  std::vector<int32_t> guesses;
  for (int at = source_; static_cast<int>(guesses.size()) < count; ++at)
    guesses.push_back(at < known_ ? tokens[at] : guesses[at - known_]);
  return guesses;
}

}  // namespace lockstep::engine
