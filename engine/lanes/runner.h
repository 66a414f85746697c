// Serves jobs on one model: admission to lanes, rounds, choice of tokens, replies.
//
// Threads: the engine's thread only, which calls turn() in a loop.
#pragma once

#include <deque>
#include <list>
#include <memory>

#include "engine/cache/prompt_cache.h"
#include "engine/engine.h"
#include "engine/lanes/lane.h"
#include "engine/lanes/pace.h"
#include "engine/lanes/plan.h"
#include "engine/memory/page_pool.h"
#include "engine/models/forward.h"

namespace lockstep::engine {

class Runner {
 public:
  struct Limits {
    int lanes, chunk, context;
    int pages;        // KV pages in all
    int cache_slots;  // recurrent-state slots beyond the lanes', for the prompt cache
    int cache_pages;  // pages that the prompt cache may hold
  };
  Runner(kernels::Device&, const ModelConfig&, const Tokenizer&, Forward&, const Limits&);

  void submit(std::unique_ptr<Lane>);  // waits for its turn, behind those of its priority
  void cancel(JobId);
  void fail_all(const RequestError&);

  bool idle() const { return waiting_.empty() && active_.empty(); }
  int waiting() const { return static_cast<int>(waiting_.size()); }
  int active() const { return static_cast<int>(active_.size()); }
  int pages_used() const { return limits_.pages - pages_.available(); }
  const PromptCache& cache() const { return cache_; }
  // One round: admits, runs, chooses, replies. False when there is nothing to do.
  bool turn();

  // Counted since the start.
  struct Counts {
    uint64_t served = 0, cancelled = 0, failed = 0, prompt_tokens = 0, reply_tokens = 0, rounds = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  using Lanes = std::vector<std::unique_ptr<Lane>>;
  void admit();
  void resume(Lane& lane);
  void keep(const Lane& lane, bool system);
  bool free_pages(int count);
  bool reserve(Lane& lane, int positions);
  void set_aside(Lane& lane);
  Batch assemble();
  void choose_tokens(const Batch&);
  std::optional<TokenLogprob> describe(const Lane&, const Choice&, const LogitRow&) const;
  bool append(Lane& lane, int32_t token, std::optional<TokenLogprob> logprob);
  void finish(Lane& lane, Finish how, Delta&& last);
  void release(Lane& lane);

  kernels::Device& device_;
  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  Forward& forward_;
  const Limits limits_;
  Pace pace_;
  PagePool pages_;
  PromptCache cache_;
  std::optional<int32_t> message_start_;
  std::vector<int> free_slots_;
  std::deque<std::unique_ptr<Lane>> waiting_;  // in order of priority, then of arrival
  Lanes active_;                               // in order of admission
  std::vector<Lane*> shares_;                  // lanes of the round that is running, as in Batch::sequences
  Counts counts_;

  DeviceArray<int32_t> candidate_id_, finite_;
  DeviceArray<float> candidate_logit_, maximum_, log_sum_;
};

}  // namespace lockstep::engine
