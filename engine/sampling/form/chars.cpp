#include "engine/sampling/form/chars.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "engine/chat/language/text.h"

namespace lockstep::engine {
namespace {

constexpr char32_t last_char = 0x10ffff, surrogates_low = 0xd800, surrogates_high = 0xdfff;

using Bytes = std::array<uint8_t, 4>;

int encode(char32_t c, Bytes& out) {
  if (c < 0x80) {
    out[0] = static_cast<uint8_t>(c);
    return 1;
  }
  const int count = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (int i = count - 1; i > 0; --i, c >>= 6) out[i] = static_cast<uint8_t>(0x80 | (c & 0x3f));
  out[0] = static_cast<uint8_t>((0xf00 >> count & 0xff) | c);
  return count;
}

// Writes characters of one automaton into a grammar. Tails of characters' bytes are shared.
class Writer {
 public:
  Writer(GrammarBuilder& builder, Writing writing) : builder_(builder), writing_(writing) {}

  void add(const CharSet& set, Grammar::State from, Grammar::State to) {
    for (const auto& [low, high] : set.ranges()) {
      if (writing_ == Writing::raw)
        range(low, high, from, to);
      else
        json(low, high, from, to);
    }
    if (writing_ == Writing::json && set == CharSet::all()) optional_escapes(from, to);
  }

 private:
  void json(char32_t low, char32_t high, Grammar::State from, Grammar::State to) {
    for (char32_t c = low; c <= std::min<char32_t>(high, 0x1f); ++c) control(c, from, to);
    for (const char32_t c : {U'"', U'\\'})
      if (low <= c && c <= high) escape(static_cast<uint8_t>(c), from, to);
    low = std::max<char32_t>(low, 0x20);
    for (const char32_t c : {U'"', U'\\'}) {
      if (low <= c && c <= high) {
        if (low < c) range(low, c - 1, from, to);
        low = c + 1;
      }
    }
    if (low <= high) range(low, high, from, to);
  }

  void escape(uint8_t letter, Grammar::State from, Grammar::State to) {
    builder_.byte(behind_backslash(from), letter, letter, to);
  }
  // Only those that JSON has a letter for: a form that insists on others has no text.
  void control(char32_t c, Grammar::State from, Grammar::State to) {
    static constexpr std::array<char, 6> letters = {'b', 't', 'n', 0, 'f', 'r'};  // U+0008 to U+000D
    if (c >= 8 && c <= 13 && c != 11) escape(static_cast<uint8_t>(letters[c - 8]), from, to);
  }
  Grammar::State behind_backslash(Grammar::State from) {
    const auto [at, fresh] = backslashes_.try_emplace(from, 0);
    if (fresh) at->second = builder_.literal(from, "\\");
    return at->second;
  }
  // "\/" and "\uXXXX", but for surrogates.
  void optional_escapes(Grammar::State from, Grammar::State to) {
    const Grammar::State escaped = behind_backslash(from);
    builder_.byte(escaped, '/', '/', to);
    const Grammar::State first = builder_.literal(escaped, "u");
    const Grammar::State last = builder_.state(), third = builder_.state(), second = builder_.state(),
                         after_d = builder_.state();
    const auto digits = [&](Grammar::State a, Grammar::State b) {
      builder_.byte(a, '0', '9', b);
      builder_.byte(a, 'a', 'f', b);
      builder_.byte(a, 'A', 'F', b);
    };
    digits(last, to);
    digits(third, last);
    digits(second, third);
    builder_.byte(after_d, '0', '7', third);
    builder_.byte(first, '0', '9', second);
    for (const auto& [low, high] :
         {std::pair('a', 'c'), std::pair('e', 'f'), std::pair('A', 'C'), std::pair('E', 'F')})
      builder_.byte(first, static_cast<uint8_t>(low), static_cast<uint8_t>(high), second);
    builder_.byte(first, 'd', 'd', after_d);
    builder_.byte(first, 'D', 'D', after_d);
  }

  // A range, cut where the number of bytes changes and where a byte's range is not whole.
  void range(char32_t low, char32_t high, Grammar::State from, Grammar::State to) {
    for (const char32_t border : {0x7fu, 0x7ffu, 0xffffu})
      if (low <= border && border < high) {
        range(low, border, from, to);
        return range(border + 1, high, from, to);
      }
    Bytes first{}, last{};
    const int count = encode(low, first);
    encode(high, last);
    for (int i = 1; i < count; ++i) {
      const char32_t mask = (1u << (6 * i)) - 1;
      if ((low & ~mask) == (high & ~mask)) continue;
      if ((low & mask) != 0) {
        range(low, low | mask, from, to);
        return range((low | mask) + 1, high, from, to);
      }
      if ((high & mask) != mask) {
        range(low, (high & ~mask) - 1, from, to);
        return range(high & ~mask, high, from, to);
      }
    }
    builder_.byte(from, first[0], last[0], tail(first, last, 1, count, to));
  }

  // The state from which bytes [at, count) lead to `to`.
  Grammar::State tail(const Bytes& first, const Bytes& last, int at, int count, Grammar::State to) {
    if (at == count) return to;
    std::string name(1, static_cast<char>(count - at));
    for (int i = at; i < count; ++i) name += {static_cast<char>(first[i]), static_cast<char>(last[i])};
    const auto known = tails_.find({to, name});
    if (known != tails_.end()) return known->second;
    const Grammar::State state = builder_.state();
    builder_.byte(state, first[at], last[at], tail(first, last, at + 1, count, to));
    tails_[{to, name}] = state;
    return state;
  }

  GrammarBuilder& builder_;
  Writing writing_;
  std::map<Grammar::State, Grammar::State> backslashes_;
  std::map<std::pair<Grammar::State, std::string>, Grammar::State> tails_;
};

}  // namespace

CharSet CharSet::all() {
  CharSet set;
  set.add(0, last_char);
  return set;
}

void CharSet::add(char32_t low, char32_t high) {
  high = std::min(high, last_char);
  if (low < surrogates_low && high >= surrogates_low) {
    add(low, surrogates_low - 1);
    low = surrogates_low;
  }
  if (low >= surrogates_low && low <= surrogates_high) low = surrogates_high + 1;
  if (low > high) return;
  // Surrogates are nothing, so that the ranges beside them do not touch.
  std::vector<std::pair<char32_t, char32_t>> merged;
  for (const auto& [a, b] : ranges_) {
    if (b + 1 < low || a > high + 1) {
      merged.push_back({a, b});
    } else {
      low = std::min(low, a);
      high = std::max(high, b);
    }
  }
  merged.push_back({low, high});
  std::ranges::sort(merged);
  ranges_ = std::move(merged);
}

void CharSet::add(const CharSet& other) {
  for (const auto& [low, high] : other.ranges_) add(low, high);
}

CharSet CharSet::inverse() const {
  CharSet out;
  char32_t next = 0;
  for (const auto& [low, high] : ranges_) {
    if (next < low) out.add(next, low - 1);
    next = high + 1;
  }
  if (next <= last_char) out.add(next, last_char);
  return out;
}

int CharAutomaton::node() {
  if (nodes.size() >= max_nodes)
    throw FormError("a text's pattern and length take more than " + std::to_string(max_nodes) + " states");
  nodes.emplace_back();
  return static_cast<int>(nodes.size() - 1);
}

CharAutomaton any_chars() {
  CharAutomaton out;
  out.start = out.node();
  out.nodes[0].accept = true;
  out.nodes[0].edges.push_back({CharSet::all(), 0});
  return out;
}

CharAutomaton with_length(const CharAutomaton& automaton, int least, int most) {
  if (least <= 0 && most < 0) return automaton;
  CharAutomaton out;
  std::map<std::pair<int, int>, int> known;  // node and characters so far
  std::vector<std::pair<int, int>> todo;
  const auto visit = [&](int node, int count) {
    if (most < 0) count = std::min(count, least);
    const auto [at, fresh] = known.try_emplace({node, count}, 0);
    if (fresh) {
      at->second = out.node();
      out.nodes.back().accept = automaton.nodes[node].accept && count >= least;
      todo.push_back({node, count});
    }
    return at->second;
  };
  out.start = visit(automaton.start, 0);
  for (size_t next = 0; next < todo.size(); ++next) {
    const auto [node, count] = todo[next];
    const int here = known[{node, count}];
    for (const int to : automaton.nodes[node].skips) {
      const int there = visit(to, count);
      out.nodes[here].skips.push_back(there);
    }
    if (most >= 0 && count >= most) continue;
    for (const auto& [set, to] : automaton.nodes[node].edges) {
      const int there = visit(to, count + 1);
      out.nodes[here].edges.push_back({set, there});
    }
  }
  return out;
}

CharAutomaton all_but(const std::vector<std::string>& texts, const CharSet& allowed) {
  CharAutomaton out;
  out.start = out.node();
  std::vector<std::map<char32_t, int>> children(1);
  for (const std::string& text : texts) {
    int at = 0;
    for (size_t i = 0; i < text.size();) {
      const char32_t c = language::decode(text, i);
      const auto [child, fresh] = children[at].try_emplace(c, 0);
      if (fresh) {
        child->second = out.node();
        at = child->second;
        children.emplace_back();
      } else {
        at = child->second;
      }
    }
    out.nodes[at].accept = true;  // for now: a text of the list ends here
  }
  const int other = out.node();
  out.nodes[other].edges.push_back({allowed, other});
  for (int at = 0; at < other; ++at) {
    CharSet others = allowed.inverse();
    for (const auto& [c, child] : children[at]) {
      out.nodes[at].edges.push_back({CharSet(c, c), child});
      others.add(c, c);
    }
    out.nodes[at].edges.push_back({others.inverse(), other});
    out.nodes[at].accept = !out.nodes[at].accept;
  }
  out.nodes[other].accept = true;
  return out;
}

// Knuth, Morris and Pratt: node k has seen the marker's first k characters.
CharAutomaton text_without(std::string_view marker) {
  CharAutomaton out;
  for (size_t seen = 0; seen < marker.size(); ++seen) {
    out.node();
    out.nodes[seen].accept = true;
    CharSet others = CharSet::all().inverse();
    for (const char c : marker) {
      const std::string read = std::string(marker.substr(0, seen)) + c;
      size_t next = std::min(read.size(), marker.size());
      while (!std::string_view(read).ends_with(marker.substr(0, next))) --next;
      const auto character = static_cast<unsigned char>(c);
      const bool known = std::ranges::any_of(
          others.ranges(), [&](const auto& r) { return r.first <= character && character <= r.second; });
      if (known) continue;
      others.add(character, character);
      if (next < marker.size())
        out.nodes[seen].edges.push_back({CharSet(character, character), static_cast<int>(next)});
    }
    out.nodes[seen].edges.push_back({others.inverse(), 0});
  }
  return out;
}

void add_chars(GrammarBuilder& builder, const CharAutomaton& automaton, Writing writing, Grammar::State from,
               Grammar::State to) {
  Writer writer(builder, writing);
  std::vector<Grammar::State> states;
  for (size_t i = 0; i < automaton.nodes.size(); ++i) states.push_back(builder.state());
  builder.skip(from, states[automaton.start]);
  for (size_t i = 0; i < automaton.nodes.size(); ++i) {
    const CharAutomaton::Node& node = automaton.nodes[i];
    for (const int next : node.skips) builder.skip(states[i], states[next]);
    for (const auto& [set, next] : node.edges) writer.add(set, states[i], states[next]);
    if (node.accept) builder.skip(states[i], to);
  }
}

}  // namespace lockstep::engine
