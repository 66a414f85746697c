#include "engine/sampling/form/grammar.h"

#include <algorithm>

namespace lockstep::engine {
namespace {

[[noreturn]] void refuse_size() {
  throw FormError("it takes more than " + std::to_string(Grammar::max_states) +
                  " states; make it smaller, lower lengths and counts first");
}

}  // namespace

Grammar::State GrammarBuilder::state() {
  if (nodes_.size() >= Grammar::max_states) refuse_size();
  nodes_.emplace_back();
  return static_cast<State>(nodes_.size() - 1);
}

void GrammarBuilder::byte(State from, uint8_t low, uint8_t high, State to) {
  if (++edge_count_ > Grammar::max_edges) refuse_size();
  nodes_[from].edges.push_back({low, high, to});
}

void GrammarBuilder::skip(State from, State to) {
  if (++edge_count_ > Grammar::max_edges) refuse_size();
  nodes_[from].skips.push_back(to);
}

void GrammarBuilder::call(State from, int32_t rule, State to) {
  if (++edge_count_ > Grammar::max_edges) refuse_size();
  nodes_[from].calls.push_back({rule, to});
}

Grammar::State GrammarBuilder::literal(State from, std::string_view text) {
  for (const char c : text) {
    const State next = state();
    byte(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), next);
    from = next;
  }
  return from;
}

int32_t GrammarBuilder::rule() {
  starts_.push_back(-1);
  return static_cast<int32_t>(starts_.size() - 1);
}

// For each state, the least depth of calls that ends its rule; never: it cannot end. Without `bytes`: only
// ways on which nothing is read.
std::vector<int> GrammarBuilder::needs(bool bytes) const {
  std::vector<std::vector<State>> before(nodes_.size());  // by a byte or without
  struct Site {
    State from;
    Grammar::Call call;
  };
  std::vector<std::vector<Site>> returns(nodes_.size()), callers(starts_.size());
  for (State s = 0; s < static_cast<State>(nodes_.size()); ++s) {
    if (bytes)
      for (const Grammar::Edge& edge : nodes_[s].edges) before[edge.to].push_back(s);
    for (const State to : nodes_[s].skips) before[to].push_back(s);
    for (const Grammar::Call& call : nodes_[s].calls) {
      returns[call.then].push_back({s, call});
      callers[call.rule].push_back({s, call});
    }
  }
  std::vector<std::vector<int32_t>> rules_at(nodes_.size());
  for (size_t rule = 0; rule < starts_.size(); ++rule)
    rules_at[starts_[rule]].push_back(static_cast<int32_t>(rule));

  std::vector<int> need(nodes_.size(), never);
  std::vector<State> todo;
  const auto lower = [&](State s, int value) {
    if (value >= need[s]) return;
    need[s] = value;
    todo.push_back(s);
  };
  const auto by_call = [&](const Site& site) {
    const int inside = need[starts_[site.call.rule]], after = need[site.call.then];
    if (inside != never && after != never) lower(site.from, std::max(inside + 1, after));
  };
  for (State s = 0; s < static_cast<State>(nodes_.size()); ++s)
    if (nodes_[s].accept) lower(s, 0);
  for (size_t next = 0; next < todo.size(); ++next) {
    const State s = todo[next];
    for (const State from : before[s]) lower(from, need[s]);
    for (const Site& site : returns[s]) by_call(site);
    for (const int32_t rule : rules_at[s])
      for (const Site& site : callers[rule]) by_call(site);
  }
  return need;
}

void GrammarBuilder::refuse_left_recursion(const std::vector<int>& empty) const {
  std::vector<std::vector<int32_t>> first(starts_.size());  // rules that a rule calls before any byte
  for (size_t rule = 0; rule < starts_.size(); ++rule) {
    std::vector<State> todo = {starts_[rule]};
    std::vector<bool> seen(nodes_.size());
    while (!todo.empty()) {
      const State s = todo.back();
      todo.pop_back();
      if (seen[s]) continue;
      seen[s] = true;
      todo.insert(todo.end(), nodes_[s].skips.begin(), nodes_[s].skips.end());
      for (const Grammar::Call& call : nodes_[s].calls) {
        first[rule].push_back(call.rule);
        if (empty[starts_[call.rule]] != never) todo.push_back(call.then);
      }
    }
  }
  enum class Mark : uint8_t { none, open, done };
  std::vector<Mark> marks(starts_.size());
  std::vector<std::pair<int32_t, size_t>> path;
  for (size_t rule = 0; rule < starts_.size(); ++rule) {
    if (marks[rule] != Mark::none) continue;
    path.push_back({static_cast<int32_t>(rule), 0});
    marks[rule] = Mark::open;
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (next == first[at].size()) {
        marks[at] = Mark::done;
        path.pop_back();
        continue;
      }
      const int32_t called = first[at][next++];
      if (marks[called] == Mark::open) throw FormError("a part of it is defined by nothing but itself");
      if (marks[called] == Mark::none) {
        marks[called] = Mark::open;
        path.push_back({called, 0});
      }
    }
  }
}

// Appends what the state leads to, without skips and without what cannot end.
void GrammarBuilder::flatten(State from, const std::vector<int>& need, Grammar& out) const {
  std::vector<State> todo = {from}, seen = {from};
  bool accepts = false;
  const size_t first_edge = out.edges_.size();
  while (!todo.empty()) {
    const Node& node = nodes_[todo.back()];
    todo.pop_back();
    accepts |= node.accept;
    for (const Grammar::Edge& edge : node.edges)
      if (need[edge.to] != never) out.edges_.push_back(edge);
    for (const Grammar::Call& call : node.calls)
      if (need[starts_[call.rule]] != never && need[call.then] != never) out.calls_.push_back(call);
    for (const State to : node.skips)
      if (need[to] != never && std::ranges::find(seen, to) == seen.end()) {
        seen.push_back(to);
        todo.push_back(to);
      }
  }
  if (out.edges_.size() > Grammar::max_edges || seen.size() > 20'000) refuse_size();
  std::sort(out.edges_.begin() + static_cast<ptrdiff_t>(first_edge), out.edges_.end(),
            [](const Grammar::Edge& a, const Grammar::Edge& b) {
              return std::tie(a.low, a.high, a.to) < std::tie(b.low, b.high, b.to);
            });
  out.accepts_.push_back(accepts);
}

std::shared_ptr<const Grammar> GrammarBuilder::finish(int32_t root) {
  const std::vector<int> need = needs(true);
  if (need[starts_[root]] >= Grammar::max_depth)
    throw FormError(need[starts_[root]] == never ? "no finite text fits it"
                                                 : "whatever fits it is nested too deep");
  refuse_left_recursion(needs(false));
  // Only states that something leads to by a byte, a return or a call are ever looked at.
  std::vector<bool> entered(nodes_.size());
  for (const Node& node : nodes_) {
    for (const Grammar::Edge& edge : node.edges) entered[edge.to] = true;
    for (const Grammar::Call& call : node.calls) entered[call.then] = true;
  }
  for (const State start : starts_) entered[start] = true;
  auto out = std::make_shared<Grammar>();
  for (State s = 0; s < static_cast<State>(nodes_.size()); ++s) {
    out->edge_from_.push_back(static_cast<uint32_t>(out->edges_.size()));
    out->call_from_.push_back(static_cast<uint32_t>(out->calls_.size()));
    if (entered[s] && need[s] != never)
      flatten(s, need, *out);
    else
      out->accepts_.push_back(false);
  }
  out->edge_from_.push_back(static_cast<uint32_t>(out->edges_.size()));
  out->call_from_.push_back(static_cast<uint32_t>(out->calls_.size()));
  out->need_ = need;
  out->starts_ = starts_;
  out->root_ = root;
  return out;
}

}  // namespace lockstep::engine
