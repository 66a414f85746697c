// Guesses of the checkpoint's multi-token head, one after the other. The head reads every row that stands,
// prompts included, so its keys and values are those of the lane's whole history.
#pragma once

#include "engine/drafts/costs.h"
#include "engine/drafts/drafter.h"
#include "engine/drafts/sureness.h"
#include "engine/lanes/logit_rows.h"
#include "engine/models/forward.h"

namespace lockstep::engine {

class HeadDrafter final : public Drafter {
 public:
  HeadDrafter(Forward& forward, LogitRows& logits, TimeByRows& times)
      : forward_(forward), logits_(logits), times_(times) {}

  Chance chance(const Lane& lane) const override {
    return {lane.head_first.value_or(first_).mean(), lane.head_next.value_or(next_).mean()};
  }
  bool computed() const override { return true; }
  void draft(std::span<const Stood>, std::span<const DraftWish>) override;
  // Reads all rows that stand, and those that waited: what is going to be kept of these lanes needs them.
  void read_now(std::span<const Stood>);
  // After a round in which the first `right` of the lane's guesses stood, and `tested` could be told.
  void learn(Lane&, int right, int tested);

 private:
  struct Rows {
    Batch batch;
    std::vector<int32_t> hidden;
    void add(const Forward&, const Stood&, int first, int end);
  };
  // Guesses of one lane, in the making.
  struct Chain {
    const DraftWish* wish;
    const Stood* from;
    int32_t hidden;  // row that the next guess is made from
    double chance;   // that all of them stand
  };
  void read(std::span<const Stood>, std::span<const DraftWish>, bool all, bool guessing_too);
  std::pair<int32_t, float> guess(const Lane&, int row, int step) const;
  bool take(Chain&, int row, int step);

  Forward& forward_;
  LogitRows& logits_;
  TimeByRows& times_;
  Sureness sureness_;
  Acceptance first_{0.7}, next_{0.4};  // of all lanes, and of a new one
};

}  // namespace lockstep::engine
