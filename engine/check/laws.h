// The laws as random trials on a running engine. All laws try the same requests, and each reply is compared
// with the one that the request gets alone, undrafted, and read from nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/check/trial.h"

namespace lockstep::engine {

class Laws {
 public:
  struct Setting {
    int trials;          // of each law
    int longest;         // tokens of a prompt
    int together;        // requests at once
    int priority;        // of all requests
    bool beside_others;  // chunked = whole: cut by a stream that decodes, not by another size of chunks
    unsigned seed;
  };
  // Of every law, when counts have grown. False ends the check.
  using Tell = std::function<bool(const LawCount&)>;

  // `plain` computes what replies are compared with; it may be the engine that is tried.
  Laws(Engine& plain, const Setting& setting, Tell tell);

  // Everything that one engine can show.
  std::vector<LawCount> run(Engine& served);
  // The first parts of the prompts were kept on disk by another process.
  LawCount restarted(Engine& served);
  LawCount on_device(const std::string& name, Engine& engine, int trials);
  // Gets the first differences of each law.
  void on_difference(std::function<void(const std::string&)> differs) { differs_ = std::move(differs); }

  // The request that leaves a first part of prompts in memory and on disk: one of so many, of 1 token to 3
  // pages and 16.
  static constexpr int first_parts = 3 * 64 + 16;
  static Trial first_part(unsigned seed, int index, const ModelInfo& model);

 private:
  struct Stopped {};
  struct Request {
    Trial trial;  // fresh
    std::optional<Outcome> expected;
  };
  LawCount drafted(Engine&);
  LawCount concurrent(Engine&);
  LawCount resumed(Engine&);
  LawCount whole(Engine&);
  const Trial& trial(int index) const { return requests_[static_cast<size_t>(index)].trial; }
  const Outcome& expected(int index);
  void compare(LawCount& law, int index, const Outcome& outcome);

  Engine& plain_;
  const Setting setting_;
  Tell tell_;
  std::function<void(const std::string&)> differs_;
  std::vector<Request> requests_;
};

}  // namespace lockstep::engine
