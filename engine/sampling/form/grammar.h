// Grammars over bytes: rules that are automata and call each other, as a reply's form needs them.
//
// A finished grammar has no dead ends: from every state that matching can reach, some text completes the
// whole, within max_depth calls inside each other.
// Threads: a Grammar is constant and may be shared.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

// A form that cannot be held to: what() says why.
struct FormError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Grammar {
 public:
  using State = int32_t;
  struct Edge {
    uint8_t low, high;  // bytes
    State to;
  };
  struct Call {
    int32_t rule;
    State then;
  };
  static constexpr int max_depth = 256;          // calls inside each other
  static constexpr size_t max_states = 200'000;  // of all rules
  static constexpr size_t max_edges = 2'000'000;

  std::span<const Edge> edges(State s) const { return part(edges_, edge_from_, s); }
  std::span<const Call> calls(State s) const { return part(calls_, call_from_, s); }
  bool accepts(State s) const { return accepts_[s]; }  // its rule may end here
  // Calls inside each other that ending its rule takes from here, at least.
  int need(State s) const { return need_[s]; }
  State start(int32_t rule) const { return starts_[rule]; }
  State start() const { return starts_[root_]; }
  size_t states() const { return accepts_.size(); }

 private:
  friend class GrammarBuilder;
  template <typename T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<uint32_t>& from, State s) {
    return std::span(all).subspan(from[s], from[s + 1] - from[s]);
  }

  std::vector<Edge> edges_;
  std::vector<Call> calls_;
  std::vector<uint32_t> edge_from_, call_from_;
  std::vector<bool> accepts_;
  std::vector<int> need_;
  std::vector<State> starts_;  // of the rules
  int32_t root_ = 0;
};

class GrammarBuilder {
 public:
  using State = Grammar::State;

  State state();  // throws FormError when there are too many
  void byte(State from, uint8_t low, uint8_t high, State to);
  void skip(State from, State to);  // without any byte
  void call(State from, int32_t rule, State to);
  void accept(State state) { nodes_[state].accept = true; }
  // The state behind the text.
  State literal(State from, std::string_view text);

  int32_t rule();  // a new one, to be called before it is defined
  void define(int32_t rule, State start) { starts_[rule] = start; }

  // Throws FormError: no finite text fits, or a rule calls itself before any byte.
  std::shared_ptr<const Grammar> finish(int32_t root);

 private:
  struct Node {
    std::vector<Grammar::Edge> edges;
    std::vector<Grammar::Call> calls;
    std::vector<State> skips;
    bool accept = false;
  };
  static constexpr int never = std::numeric_limits<int>::max();

  std::vector<int> needs(bool bytes) const;
  void refuse_left_recursion(const std::vector<int>& empty) const;
  void flatten(State from, const std::vector<int>& need, Grammar& out) const;

  std::vector<Node> nodes_;
  std::vector<State> starts_;
  size_t edge_count_ = 0;
};

}  // namespace lockstep::engine
