#include "engine/drafts/head_drafter.h"

#include <algorithm>
#include <cmath>

namespace lockstep::engine {
namespace {

constexpr int most_joined = 4;

// Rows of a lane that the head has yet to read, but for this round's last one.
int unread(const Stood& one) { return one.kept ? 0 : one.lane->head_held + one.stands - 1; }

}  // namespace

// Rows [first, end) of the lane, counted from its first one of the round; those before are held.
void HeadDrafter::Rows::add(const Forward& forward, const Stood& one, int first, int end) {
  const Lane& lane = *one.lane;
  if (first == end) return;
  const int position = one.first_position + first;
  batch.add(std::span(lane.tokens).subspan(position + 1, end - first), position, lane.pages, lane.slot);
  for (int row = first; row < end; ++row)
    hidden.push_back(row < 0 ? forward.held(lane.slot, lane.head_held + row) : one.first_row + row);
}

// The rows that nobody guesses from: keys and values only. Those of a lane that decodes without the head wait
// until there are enough of them, or the head is wanted.
void HeadDrafter::read(std::span<const Stood> stood, std::span<const DraftWish> wishes, bool all,
                       bool guessing_too) {
  Rows rows;
  for (const Stood& one : stood) {
    Lane& lane = *one.lane;
    if (one.kept && !all) continue;
    const bool guesses = std::ranges::any_of(wishes, [&](const DraftWish& w) { return w.lane == &lane; });
    if (guesses && !guessing_too) continue;
    if (!all && !guesses && !one.over && lane.head_held + one.stands <= Forward::held_rows) {
      for (int row = 0; row < one.stands; ++row)
        forward_.hold(one.first_row + row, lane.slot, lane.head_held++);
      continue;
    }
    const int now = one.stands - guesses;
    if (rows.batch.rows() + lane.head_held + now > forward_.most_rows()) {
      forward_.read_draft(rows.batch, rows.hidden);
      rows = {};
    }
    rows.add(forward_, one, -lane.head_held, now);
    lane.head_held = 0;
  }
  if (rows.batch.rows()) forward_.read_draft(rows.batch, rows.hidden);
}

void HeadDrafter::read_now(std::span<const Stood> stood) { read(stood, {}, true, true); }

// The head's guess in a row of its logits, and the chance that it gives it.
std::pair<int32_t, float> HeadDrafter::guess(const Lane& lane, int row, int step) const {
  if (!logits_.finite(row)) return {0, 0};
  const LogitRow logits = logits_.row(row);
  // With the very numbers that the true choice will be made with: then a sampled token is guessed too.
  const int32_t token = lane.chooser->guess(logits, lane.tokens.size() + step);
  const float logit = logits.logit[std::ranges::find(logits.id, token) - logits.id.begin()];
  return {token, std::exp(logit - logits.maximum - logits.log_sum)};
}

void HeadDrafter::draft(std::span<const Stood> stood, std::span<const DraftWish> wishes) {
  auto start = Clock::now();
  std::vector<Chain> going;
  int others = 0;
  for (const DraftWish& wish : wishes) {
    const Stood& from = *std::ranges::find(stood, wish.lane, &Stood::lane);
    going.push_back({&wish, &from, from.first_row + from.stands - 1, 1});
    others += unread(from);
  }
  // A few others go through the head with the rows that are guessed from: that costs less than a run of
  // theirs.
  const bool joined = others <= most_joined && others + static_cast<int>(going.size()) <= draft_rows;
  read(stood, wishes, false, !joined);
  for (int step = 0; !going.empty(); ++step) {
    Rows rows;
    rows.batch.candidates = 1;
    for (const Chain& chain : going) {
      Lane& lane = *chain.wish->lane;
      if (step == 0) {
        const int last = chain.from->stands - 1;
        rows.add(forward_, *chain.from, joined ? last - unread(*chain.from) : last, last + 1);
        lane.head_held = 0;
      } else {
        const int32_t token = lane.guesses.back();
        rows.batch.add({&token, 1}, lane.done - 1 + step, lane.pages, lane.slot);
        rows.hidden.push_back(chain.hidden);
      }
      rows.batch.logit_rows.push_back(rows.batch.rows() - 1);
      rows.batch.candidates = std::max(rows.batch.candidates, lane.chooser->guess_candidates());
    }
    forward_.draft(rows.batch, rows.hidden);
    const int lanes = static_cast<int>(going.size());
    logits_.read(lanes, forward_.draft_vocabulary(), rows.batch.candidates);
    std::vector<Chain> further;
    for (int row = 0; row < lanes; ++row) {
      Chain chain = going[row];
      chain.hidden = forward_.drafted(rows.batch.logit_rows[row]);
      if (take(chain, row, step)) further.push_back(chain);
    }
    going = std::move(further);
    const auto end = Clock::now();
    times_.measured(lanes, std::chrono::duration<double>(end - start).count());
    start = end;
  }
}

// Takes a guess to be tried, if it is good enough. True when another one is to follow it.
bool HeadDrafter::take(Chain& chain, int row, int step) {
  Lane& lane = *chain.wish->lane;
  const auto [token, sure] = guess(lane, row, step);
  lane.head_sure.push_back(sure);
  chain.chance *= sureness_.chance(step, sure);
  if (chain.chance < chain.wish->least_chance) {
    lane.head_probe = token;
    return false;
  }
  lane.guesses.push_back(token);
  return step + 1 < chain.wish->depth;
}

void HeadDrafter::learn(Lane& lane, int right, int tested) {
  const int tried = static_cast<int>(lane.guesses.size()), all = static_cast<int>(lane.head_sure.size());
  for (int step = 0; step < std::min(all, tested); ++step) {
    const bool stood = step < tried ? step < right : lane.head_probe == lane.tokens.back();
    sureness_.tested(step, lane.head_sure[step], stood);
    Acceptance& all_lanes = step ? next_ : first_;
    std::optional<Acceptance>& own = step ? lane.head_next : lane.head_first;
    if (!own) own = all_lanes;
    own->tested(stood);
    all_lanes.tested(stood);
  }
}

}  // namespace lockstep::engine
