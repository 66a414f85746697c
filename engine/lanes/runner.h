// Serves jobs on one model: admission to lanes, rounds, choice of tokens, replies.
//
// Threads: the engine's thread only, which calls turn() in a loop.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>

#include "engine/cache/prompt_cache.h"
#include "engine/drafts/head_drafter.h"
#include "engine/engine.h"
#include "engine/lanes/lane.h"
#include "engine/lanes/logit_rows.h"
#include "engine/lanes/pace.h"
#include "engine/lanes/plan.h"
#include "engine/lanes/waiting.h"
#include "engine/memory/page_pool.h"
#include "engine/models/forward.h"
#include "engine/snapshots/courier.h"

namespace lockstep::engine {

inline int pages_for(int positions) {
  return (positions + kernels::page_positions - 1) / kernels::page_positions;
}

class Runner {
 public:
  struct Limits {
    int lanes, chunk, context;
    int draft_rows;   // rows of the largest round with guesses
    int pages;        // KV pages in all
    int cache_slots;  // recurrent-state slots beyond the lanes', for the prompt cache
    int cache_pages;  // pages that the prompt cache may hold
  };
  // `store` may be null. `tell` gets what the log should know.
  Runner(kernels::Device&, const ModelConfig&, const Tokenizer&, Forward&, const Limits&,
         SnapshotStore* store, std::function<void(const Notice&)> tell);

  void submit(std::unique_ptr<Lane> lane) { waiting_.add(std::move(lane)); }  // it waits for its turn
  void cancel(JobId);
  void fail_all(const RequestError&);

  // Nothing to do before something comes: a job, or word from the store.
  bool idle() const { return active_.empty() && (waiting_.empty() || !loading_.empty()); }
  int waiting() const { return waiting_.size(); }
  int active() const { return static_cast<int>(active_.size() + loading_.size()); }
  // Bytes in use: of the lanes' KV pages, and of the prompt cache.
  uint64_t lane_bytes() const {
    return forward_.page_bytes() * (limits_.pages - pages_.available() - cache_.pages_held());
  }
  uint64_t cache_bytes() const {
    return forward_.page_bytes() * cache_.pages_held() + forward_.state_bytes() * cache_.entries();
  }
  const PromptCache::Counts& cache_counts() const { return cache_.counts(); }
  // One round: admits, runs, chooses, replies, guesses on. False when there is nothing to do.
  bool turn();
  // Times rounds of several sizes, for drafts and prompts to be priced by. Before the first turn() only.
  void measure();
  // One step of making memory ready that nobody has used yet, which a round would have to wait for. False
  // when enough of it is.
  bool make_ready();
  void finish_saves(std::chrono::milliseconds most);

  // Counted since the start.
  struct Counts {
    uint64_t served = 0, cancelled = 0, failed = 0, prompt_tokens = 0, reply_tokens = 0, rounds = 0;
    uint64_t guessed = 0, guessed_right = 0;  // tokens tried as drafts, and those that stood
    std::array<Status::Depth, Status::deepest_draft> drafts{};
    uint64_t begun_new = 0, begun_from_memory = 0, begun_from_disk = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  using Lanes = std::vector<std::unique_ptr<Lane>>;
  void admit();
  void resume(Lane& lane);
  void go_on(std::unique_ptr<Lane> lane);
  void keep(const Lane& lane, bool system);
  void save(const Lane& lane, bool system);
  bool fetch(Lane& lane);
  void land();
  void trace(const Lane& lane);
  bool free_pages(int count);
  bool reserve(Lane& lane, int positions);
  void set_aside(Lane& lane);

  // A lane's part in the round that is running, as in Batch::sequences.
  struct Share {
    Lane* lane;
    kernels::Sequence rows;
    int first_row = -1;    // of logits: of all its rows if its prompt is scored, else its last ones; -1: none
    int first_logit = -1;  // that a token of the reply is chosen from; -1: its prompt goes on
    int stands = 0;
    bool over = false;  // failed, or:
    std::optional<Finish> finish = std::nullopt;
    Delta last = {};    // of a reply that is over
    bool kept = false;  // its prefix, at the end of this round
  };
  Batch assemble();
  void choose_tokens();
  void score_prompt(const Share&);
  bool next_token(Share&, int logit_row);
  std::optional<TokenLogprob> describe(const Lane&, const Choice&, const LogitRow&) const;
  bool append(Share&, int32_t token, std::optional<TokenLogprob> logprob);
  void end_round();
  void finish(Share&);
  std::vector<DraftWish> wishes();
  int most_guesses(Lane&);
  void draft();
  std::vector<Stood> stood_of(const std::function<bool(const Share&)>& which) const;
  void measure_prompts();
  int32_t some_token(int number) const;
  void draft_by_head(std::span<const Stood> stood, std::vector<DraftWish> computed);
  void release(Lane& lane);

  kernels::Device& device_;
  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  Forward& forward_;
  const Limits limits_;
  Pace pace_;
  PagePool pages_;
  PromptCache cache_;
  SnapshotStore* const store_;
  std::optional<Courier> courier_;  // when there is a store
  const std::function<void(const Notice&)> tell_;
  std::optional<int32_t> message_start_;
  std::vector<int> free_slots_;
  Waiting waiting_;
  Lanes loading_;  // admitted, their prefix on its way from the disk
  Lanes active_;   // in order of admission
  std::vector<Share> shares_;
  LogitRows logits_;
  RoundCosts costs_;
  CopyDrafter copier_;
  Spoiler spoiler_;
  std::optional<HeadDrafter> head_;  // if the checkpoint has a multi-token head
  bool drafting_ = false;            // the last round with a choice had guesses
  bool guessed_ = false;             // the last round had guesses
  int touched_slots_ = 0;            // slots before this one have been used
  int ready_slots_ = 0, ready_pages_ = 0;
  Counts counts_;
};

}  // namespace lockstep::engine
