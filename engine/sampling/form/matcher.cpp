#include "engine/sampling/form/matcher.h"

#include <algorithm>
#include <utility>

namespace lockstep::engine {
namespace {

constexpr int32_t unknown = -2, dead = -1, bottom = -1;

uint64_t key(int32_t a, int32_t b) {
  return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) {
  current_ = intern({{grammar_->start(), bottom}});
}

bool Matcher::allows(std::string_view bytes) {
  if (bytes.empty()) return false;
  if (sets_.size() > kept_sets || frames_.size() > kept_frames) forget();
  int32_t set = current_;
  for (const char c : bytes) {
    set = step(set, static_cast<uint8_t>(c));
    if (set == dead) return false;
  }
  return true;
}

void Matcher::advance(std::string_view bytes) {
  for (const char c : bytes) {
    const int32_t next = step(current_, static_cast<uint8_t>(c));
    if (next == dead) throw FormError("the text does not fit the form");
    current_ = next;
  }
}

int32_t Matcher::step(int32_t set, uint8_t byte) {
  if (sets_[set]->next[byte] != unknown) return sets_[set]->next[byte];
  std::vector<Way> ways;
  for (const Way& way : sets_[set]->ways) {
    const int depth = way.frame == bottom ? 0 : frames_[way.frame].depth;
    for (const Grammar::Edge& edge : grammar_->edges(way.state)) {
      if (edge.low > byte) break;
      if (byte <= edge.high && depth + grammar_->need(edge.to) <= Grammar::max_depth)
        ways.push_back({edge.to, way.frame});
    }
  }
  const int32_t next = ways.empty() ? dead : intern(std::move(ways));
  sets_[set]->next[byte] = next;
  return next;
}

// Follows calls and returns; keeps the ways that a byte continues.
void Matcher::close(std::vector<Way>& ways, bool& complete) {
  std::vector<Way> todo = std::move(ways);
  ways.clear();
  seen_.clear();
  for (const Way& way : todo) seen_.insert(key(way.state, way.frame));
  const auto add = [&](Way way) {
    if (seen_.insert(key(way.state, way.frame)).second) todo.push_back(way);
    if (todo.size() > max_ways) throw FormError("the form leaves too many ways open at once");
  };
  for (size_t next = 0; next < todo.size(); ++next) {
    const Way way = todo[next];
    const int depth = way.frame == bottom ? 0 : frames_[way.frame].depth;
    if (!grammar_->edges(way.state).empty()) ways.push_back(way);
    if (grammar_->accepts(way.state)) {
      if (way.frame == bottom)
        complete = true;
      else
        add({frames_[way.frame].then, frames_[way.frame].parent});
    }
    for (const Grammar::Call& call : grammar_->calls(way.state)) {
      const bool fits = depth + 1 + grammar_->need(grammar_->start(call.rule)) <= Grammar::max_depth &&
                        depth + grammar_->need(call.then) <= Grammar::max_depth;
      if (fits) add({grammar_->start(call.rule), frame(way.frame, call.then)});
    }
  }
  std::ranges::sort(ways);
  ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
}

int32_t Matcher::intern(std::vector<Way> ways) {
  bool complete = false;
  close(ways, complete);
  uint64_t hash = complete;
  for (const Way& way : ways) {
    hash ^= key(way.state, way.frame);
    hash *= 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  const auto [first, last] = set_of_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (sets_[at->second]->ways == ways && sets_[at->second]->complete == complete) return at->second;
  auto set = std::make_unique<Set>();
  set->ways = std::move(ways);
  set->complete = complete;
  set->next.fill(unknown);
  sets_.push_back(std::move(set));
  const auto index = static_cast<int32_t>(sets_.size() - 1);
  set_of_.emplace(hash, index);
  return index;
}

int32_t Matcher::frame(int32_t parent, State then) {
  const auto [at, fresh] = frame_of_.try_emplace(key(parent, then), static_cast<int32_t>(frames_.size()));
  if (fresh) frames_.push_back({parent, then, (parent == bottom ? 0 : frames_[parent].depth) + 1});
  return at->second;
}

// Starts over from the current set.
void Matcher::forget() {
  const std::vector<Frame> old = std::exchange(frames_, {});
  const std::vector<Way> ways = sets_[current_]->ways;
  const bool complete = sets_[current_]->complete;
  frame_of_.clear();
  sets_.clear();
  set_of_.clear();
  std::unordered_map<int32_t, int32_t> moved = {{bottom, bottom}};
  const auto move = [&](int32_t at) {
    std::vector<int32_t> path;
    for (; !moved.contains(at); at = old[at].parent) path.push_back(at);
    for (; !path.empty(); path.pop_back())
      moved[path.back()] = frame(moved[old[path.back()].parent], old[path.back()].then);
  };
  auto set = std::make_unique<Set>();
  for (const Way& way : ways) {
    move(way.frame);
    set->ways.push_back({way.state, moved[way.frame]});
  }
  std::ranges::sort(set->ways);
  set->complete = complete;
  set->next.fill(unknown);
  sets_.push_back(std::move(set));
  current_ = 0;
}

}  // namespace lockstep::engine
