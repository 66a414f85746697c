// Guesses of the checkpoint's multi-token head, one after the other. The head reads every row that stands,
// prompts included, so its keys and values are those of the lane's whole history.
#pragma once

#include "engine/drafts/costs.h"
#include "engine/drafts/drafter.h"
#include "engine/lanes/logit_rows.h"
#include "engine/models/forward.h"

namespace lockstep::engine {

class HeadDrafter final : public Drafter {
 public:
  HeadDrafter(Forward& forward, LogitRows& logits, TimeByRows& times)
      : forward_(forward), logits_(logits), times_(times) {}

  Chance chance(const Lane& lane) const override { return {lane.head_first.mean(), lane.head_next.mean()}; }
  bool computed() const override { return true; }
  void draft(std::span<const Stood>, std::span<const DraftWish>) override;
  // Reads all rows that stand, and those that waited: what is going to be kept of these lanes needs them.
  void read_now(std::span<const Stood>);

 private:
  void read(std::span<const Stood>, std::span<const DraftWish>, bool all);

  Forward& forward_;
  LogitRows& logits_;
  TimeByRows& times_;
};

}  // namespace lockstep::engine
