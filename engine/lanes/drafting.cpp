// Runner's members that guess ahead.
#include <algorithm>
#include <numeric>

#include "engine/lanes/runner.h"

namespace lockstep::engine {
namespace {

// Tokens between two looks at a head that is not in use. A lane that is alone tries a guess that is as good
// as sure, which also tells what such a round takes now.
constexpr int probe_alone_every = 16, probe_every = 32;
constexpr double sure_enough = 0.9, never = 2;
// To begin with drafts, and to go on with them, they must promise so much. They keep a little more than they
// promise, which leaves out that guesses of little worth are not tried.
constexpr double begin_gain = 1.03, go_on_gain = 0.99;

}  // namespace

// Guesses that there is room for: in the reply, in the context, and in pages that nobody else needs.
int Runner::most_guesses(Lane& lane) {
  const int size = static_cast<int>(lane.tokens.size());
  const int most =
      std::min({Status::deepest_draft, lane.most_tokens - static_cast<int>(lane.reply.tokens.size()) - 1,
                limits_.context - size});
  const int positions = static_cast<int>(lane.pages.size()) * kernels::page_positions;
  if (size + most > positions && pages_.available() > static_cast<int>(active_.size())) {
    lane.pages.push_back(pages_.take());
    return most;
  }
  return std::min(most, positions - size);
}

// None when the next round is going to read a prompt.
std::vector<DraftWish> Runner::wishes() {
  std::vector<Lane*> lanes;
  for (const Share& share : shares_) {
    if (share.over) continue;
    if (share.lane->pending() > 1) return {};
    lanes.push_back(share.lane);
  }
  const auto over = std::ranges::count(shares_, true, &Share::over);
  if (lanes.size() + over < active_.size()) return {};
  std::vector<DraftOffer> offers;
  for (Lane* lane : lanes) {
    const Chance copied = copier_.chance(*lane), computed = head_ ? head_->chance(*lane) : Chance{};
    lane->guesses_computed = computed.first > copied.first;
    const Chance chance = lane->guesses_computed ? computed : copied;
    const Sampling::Draft draft = lane->job.sampling.draft;
    const bool wanted =
        draft == Sampling::Draft::spoiled || (draft != Sampling::Draft::never && chance.first > 0);
    offers.push_back({chance, wanted ? most_guesses(*lane) : 0, lane->guesses_computed});
  }
  auto [depths, least_chance] =
      choose_depths(offers, costs_, limits_.draft_rows, drafting_ ? go_on_gain : begin_gain);
  drafting_ = std::ranges::any_of(depths, [](int depth) { return depth > 0; });
  int rows = std::accumulate(depths.begin(), depths.end(), static_cast<int>(lanes.size()));
  std::vector<DraftWish> wishes;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const Sampling& sampling = lanes[i]->job.sampling;
    if (sampling.draft == Sampling::Draft::always || sampling.draft == Sampling::Draft::spoiled) {
      rows -= std::exchange(depths[i], 0);
      const int forced =
          sampling.draft_depth ? std::min(sampling.draft_depth, offers[i].most) : offers[i].most;
      depths[i] = std::clamp(limits_.draft_rows - rows, 0, forced);
      rows += depths[i];
      if (depths[i] > 0) wishes.push_back({lanes[i], depths[i]});
    } else if (depths[i] > 0) {
      wishes.push_back({lanes[i], depths[i], least_chance});
    }
  }
  return wishes;
}

std::vector<Stood> Runner::stood_of(const std::function<bool(const Share&)>& which) const {
  std::vector<Stood> stood;
  for (const Share& share : shares_)
    if (which(share))
      stood.push_back({share.lane, share.rows.first_row, share.rows.first_position, share.stands, share.over,
                       share.kept});
  return stood;
}

void Runner::draft() {
  const std::vector<Stood> stood = stood_of([](const Share&) { return true; });
  std::vector<DraftWish> copied = wishes(), computed;
  std::vector<DraftWish> spoiled;
  for (const DraftWish& wish : copied)
    if (wish.lane->job.sampling.draft == Sampling::Draft::spoiled) spoiled.push_back(wish);
  const auto by_head = std::stable_partition(
      copied.begin(), copied.end(), [](const DraftWish& wish) { return !wish.lane->guesses_computed; });
  computed.assign(by_head, copied.end());
  copied.erase(by_head, copied.end());
  std::erase_if(copied, [&](const DraftWish& wish) { return copier_.chance(*wish.lane).first == 0; });
  copier_.draft(stood, copied);
  if (head_) draft_by_head(stood, std::move(computed));
  spoiler_.draft(stood, spoiled);
}

void Runner::draft_by_head(std::span<const Stood> stood, std::vector<DraftWish> computed) {
  const bool alone = active_.size() == 1;
  const auto looked_at = [&](const Share& share) {
    const Lane& lane = *share.lane;
    return !share.over && lane.pending() == 1 && lane.job.sampling.draft != Sampling::Draft::never &&
           lane.guesses.empty() && lane.reply.tokens.size() % (alone ? probe_alone_every : probe_every) == 1;
  };
  if (computed.empty())
    for (const Share& share : shares_)
      if (looked_at(share) && static_cast<int>(computed.size()) < limits_.draft_rows)
        computed.push_back({share.lane, 1, alone && most_guesses(*share.lane) > 0 ? sure_enough : never});
  head_->draft(stood, computed);
}

}  // namespace lockstep::engine
