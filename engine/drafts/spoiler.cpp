#include "engine/drafts/drafter.h"

namespace lockstep::engine {

void Spoiler::draft(std::span<const Stood>, std::span<const DraftWish> wishes) {
  for (const DraftWish& wish : wishes) {
    Lane& lane = *wish.lane;
    uint64_t state =
        (lane.tokens.size() + 1) * 0x9e3779b97f4a7c15ULL ^ static_cast<uint32_t>(lane.tokens.back());
    const auto next = [&](int below) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(below));
    };
    const auto kept = static_cast<size_t>(next(wish.depth + 1));
    if (lane.guesses.size() > kept) lane.guesses.resize(kept);
    lane.head_sure.clear();
    while (static_cast<int>(lane.guesses.size()) < wish.depth) lane.guesses.push_back(next(vocabulary_));
  }
}

}  // namespace lockstep::engine
