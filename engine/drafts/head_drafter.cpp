#include "engine/drafts/head_drafter.h"

#include <algorithm>
#include <map>

namespace lockstep::engine {

// The rows that nobody guesses from: keys and values only.
void HeadDrafter::read(std::span<const Stood> stood, std::span<const DraftWish> wishes) {
  Batch batch;
  std::vector<int32_t> hidden;
  for (const Stood& one : stood) {
    const bool guesses = std::ranges::any_of(wishes, [&](const DraftWish& w) { return w.lane == one.lane; });
    const int rows = one.stands - guesses;
    if (rows == 0) continue;
    batch.add(std::span(one.lane->tokens).subspan(one.first_position + 1, rows), one.first_position,
              one.lane->pages, one.lane->slot);
    for (int row = 0; row < rows; ++row) hidden.push_back(one.first_row + row);
  }
  if (batch.rows()) forward_.read_draft(batch, hidden);
}

void HeadDrafter::draft(std::span<const Stood> stood, std::span<const DraftWish> wishes) {
  read(stood, wishes);
  if (wishes.empty()) return;
  std::map<const Lane*, int32_t> hidden_of;
  for (const Stood& one : stood) hidden_of[one.lane] = one.first_row + one.stands - 1;
  std::vector<const DraftWish*> going;
  for (const DraftWish& wish : wishes) going.push_back(&wish);
  for (int step = 0;; ++step) {
    std::erase_if(going, [&](const DraftWish* wish) { return wish->depth <= step; });
    if (going.empty()) return;
    const auto start = Clock::now();
    Batch batch;
    std::vector<int32_t> hidden;
    int count = 1;
    for (const DraftWish* wish : going) {
      Lane& lane = *wish->lane;
      const int32_t token = step ? lane.guesses.back() : lane.tokens.back();
      batch.add({&token, 1}, lane.done - 1 + step, lane.pages, lane.slot);
      hidden.push_back(hidden_of[&lane]);
      count = std::max(count, lane.chooser->guess_candidates());
    }
    forward_.draft(batch, hidden);
    logits_.read(forward_.logits(), batch.rows(), count);
    for (int row = 0; row < batch.rows(); ++row) {
      Lane& lane = *going[row]->lane;
      hidden_of[&lane] = forward_.drafted(row);
      // With the very numbers that the true choice will be made with: then a sampled token is guessed too.
      lane.guesses.push_back(
          logits_.finite(row) ? lane.chooser->guess(logits_.row(row), lane.tokens.size() + step) : 0);
    }
    times_.measured(batch.rows(), std::chrono::duration<double>(Clock::now() - start).count());
  }
}

}  // namespace lockstep::engine
