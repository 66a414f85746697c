#include "engine/drafts/drafter.h"

namespace lockstep::engine {

void CopyDrafter::draft(std::span<const Stood>, std::span<const DraftWish> wishes) {
  for (const DraftWish& wish : wishes)
    wish.lane->guesses = wish.lane->copies.guess(wish.lane->tokens, wish.depth);
}

}  // namespace lockstep::engine
