#include "engine/drafts/head_drafter.h"

#include <algorithm>
#include <map>

namespace lockstep::engine {

// The rows that nobody guesses from: keys and values only. Those of a lane that decodes without the head wait
// until there are enough of them, or the head is wanted.
void HeadDrafter::read(std::span<const Stood> stood, std::span<const DraftWish> wishes, bool all) {
  Batch batch;
  std::vector<int32_t> hidden;
  for (const Stood& one : stood) {
    Lane& lane = *one.lane;
    if (one.kept && !all) continue;
    const bool guesses = std::ranges::any_of(wishes, [&](const DraftWish& w) { return w.lane == &lane; });
    if (!all && !guesses && !one.over && lane.head_held + one.stands <= Forward::held_rows) {
      for (int row = 0; row < one.stands; ++row)
        forward_.hold(one.first_row + row, lane.slot, lane.head_held++);
      continue;
    }
    const int now = one.stands - guesses, rows = lane.head_held + now;
    if (batch.rows() + rows > forward_.most_rows()) {
      forward_.read_draft(batch, hidden);
      batch = {};
      hidden.clear();
    }
    if (rows > 0) {
      const int first = one.first_position - lane.head_held;
      batch.add(std::span(lane.tokens).subspan(first + 1, rows), first, lane.pages, lane.slot);
      for (int index = 0; index < lane.head_held; ++index) hidden.push_back(forward_.held(lane.slot, index));
      for (int row = 0; row < now; ++row) hidden.push_back(one.first_row + row);
    }
    lane.head_held = 0;
  }
  if (batch.rows()) forward_.read_draft(batch, hidden);
}

void HeadDrafter::read_now(std::span<const Stood> stood) { read(stood, {}, true); }

void HeadDrafter::draft(std::span<const Stood> stood, std::span<const DraftWish> wishes) {
  auto start = Clock::now();
  read(stood, wishes, false);
  if (wishes.empty()) return;
  std::map<const Lane*, int32_t> hidden_of;
  for (const Stood& one : stood) hidden_of[one.lane] = one.first_row + one.stands - 1;
  std::vector<const DraftWish*> going;
  for (const DraftWish& wish : wishes) going.push_back(&wish);
  for (int step = 0;; ++step) {
    std::erase_if(going, [&](const DraftWish* wish) { return wish->depth <= step; });
    if (going.empty()) return;
    Batch batch;
    std::vector<int32_t> hidden;
    batch.candidates = 1;
    for (const DraftWish* wish : going) {
      Lane& lane = *wish->lane;
      const int32_t token = step ? lane.guesses.back() : lane.tokens.back();
      batch.add({&token, 1}, lane.done - 1 + step, lane.pages, lane.slot);
      hidden.push_back(hidden_of[&lane]);
      batch.candidates = std::max(batch.candidates, lane.chooser->guess_candidates());
    }
    forward_.draft(batch, hidden);
    logits_.read(batch.rows(), forward_.draft_vocabulary(), batch.candidates);
    for (int row = 0; row < batch.rows(); ++row) {
      Lane& lane = *going[row]->lane;
      hidden_of[&lane] = forward_.drafted(row);
      // With the very numbers that the true choice will be made with: then a sampled token is guessed too.
      lane.guesses.push_back(
          logits_.finite(row) ? lane.chooser->guess(logits_.row(row), lane.tokens.size() + step) : 0);
    }
    const auto end = Clock::now();
    times_.measured(batch.rows(), std::chrono::duration<double>(end - start).count());
    start = end;
  }
}

}  // namespace lockstep::engine
