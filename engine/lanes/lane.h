// One request on its way: tokens, place in the device's memory, and the reply so far.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cache/borders.h"
#include "engine/drafts/copies.h"
#include "engine/engine.h"
#include "engine/lanes/reply_writer.h"
#include "engine/sampling/chooser.h"

namespace lockstep::engine {

using Clock = std::chrono::steady_clock;

struct SnapshotLoad;

struct Lane {
  JobId id = 0;  // also the order of arrival
  Job job;
  uint64_t turn = 0;  // of its owner; 0: none, it waits for all others (waiting.h)
  std::optional<Chooser> chooser;
  std::optional<ReplyWriter> writer;
  int most_tokens = 0;          // the reply's limit
  std::vector<int32_t> tokens;  // prompt, then reply
  int done = 0;                 // tokens that have been through the model
  std::vector<int32_t> pages;
  int slot = -1;
  bool begun = false;                  // has been in rounds
  int scored = 0;                      // prompt tokens whose log-probabilities were told, if they are wanted
  std::shared_ptr<SnapshotLoad> load;  // of its prefix, while it comes from the disk
  int loaded_pages = 0;                // pages that have come, or were there
  bool from_disk = false;
  std::vector<Border> borders;  // beyond `done`, rising: where its rows stop and a checkpoint is kept
  Copies copies;                // of `tokens`, as an index
  // Of the multi-token head's first guess, and of later ones; none before one was tested.
  std::optional<Acceptance> head_first, head_next;
  int head_held = 0;                  // positions before `done` that the head has yet to read
  std::vector<int32_t> guesses;       // at what follows `tokens`, to be tried in the next round
  bool guesses_computed = false;      // by the head
  std::optional<int32_t> head_probe;  // the head's guess after those: not tried, to see how good it is
  std::vector<float> head_sure;       // the chance that the head gives each of its guesses, the probe's last
  Reply reply;
  Clock::time_point arrived, admitted, first_token;

  int pending() const { return static_cast<int>(tokens.size()) - done; }
  int prompt_tokens() const { return static_cast<int>(job.prompt.tokens.size()); }
  // There is no room for guesses: the first is only looked at.
  void drop_guesses() {
    if (guesses.empty()) return;
    head_probe = guesses.front();
    guesses.clear();
    head_sure.resize(std::min<size_t>(head_sure.size(), 1));
  }
  void forget_guesses() {
    guesses.clear();
    head_probe.reset();
    head_sure.clear();
  }
  bool scoring() const { return job.sampling.prompt_logprobs && scored < prompt_tokens(); }
};

}  // namespace lockstep::engine
