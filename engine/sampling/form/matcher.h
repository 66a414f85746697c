// Follows one text through a grammar: which bytes may come next. An automaton made as it is needed.
//
// A set of ways through the grammar is a state of that automaton; sets and the steps between them are kept,
// up to a limit, so that most bytes cost one look-up. Results never depend on what is kept.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/sampling/form/grammar.h"

namespace lockstep::engine {

class Matcher {
 public:
  static constexpr size_t max_ways = 20'000;  // at once; more is a FormError
  static constexpr size_t kept_sets = 2'048;
  static constexpr size_t kept_frames = 200'000;

  explicit Matcher(std::shared_ptr<const Grammar>);

  // Whether the text so far with these bytes begins a text of the grammar.
  bool allows(std::string_view bytes);
  // Adds bytes that are allowed.
  void advance(std::string_view bytes);
  bool complete() const { return sets_[current_]->complete; }  // the text so far is one of the grammar

 private:
  using State = Grammar::State;
  struct Frame {  // a call that is open: what goes on when it returns
    int32_t parent;
    State then;
    int32_t depth;
  };
  struct Way {
    State state;
    int32_t frame;
    bool operator==(const Way&) const = default;
    auto operator<=>(const Way&) const = default;
  };
  struct Set {
    std::vector<Way> ways;
    bool complete = false;
    std::array<int32_t, 256> next;
  };

  int32_t step(int32_t set, uint8_t byte);
  int32_t intern(std::vector<Way> ways);  // -1: none
  void close(std::vector<Way>& ways, bool& complete);
  int32_t frame(int32_t parent, State then);
  void forget();

  std::shared_ptr<const Grammar> grammar_;
  std::vector<Frame> frames_;
  std::unordered_map<uint64_t, int32_t> frame_of_;  // parent, then
  std::vector<std::unique_ptr<Set>> sets_;
  std::unordered_multimap<uint64_t, int32_t> set_of_;  // by hash of the ways
  std::unordered_set<uint64_t> seen_;                  // of close()
  int32_t current_ = 0;
};

}  // namespace lockstep::engine
