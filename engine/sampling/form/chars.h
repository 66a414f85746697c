// Automata over characters, and their way into a grammar of bytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/sampling/form/grammar.h"

namespace lockstep::engine {

// Characters as ranges that rise and do not touch. Surrogates are no characters.
class CharSet {
 public:
  CharSet() = default;
  CharSet(char32_t low, char32_t high) { add(low, high); }
  static CharSet all();

  void add(char32_t low, char32_t high);
  void add(const CharSet& other);
  CharSet inverse() const;
  const std::vector<std::pair<char32_t, char32_t>>& ranges() const { return ranges_; }
  bool operator==(const CharSet&) const = default;

 private:
  std::vector<std::pair<char32_t, char32_t>> ranges_;
};

struct CharAutomaton {
  static constexpr size_t max_nodes = 50'000;
  struct Node {
    std::vector<std::pair<CharSet, int>> edges;
    std::vector<int> skips;
    bool accept = false;
  };
  std::vector<Node> nodes;
  int start = 0;

  int node();  // throws FormError when there are too many
};

CharAutomaton any_chars();
// Those texts of the automaton that have so many characters; most < 0: no upper limit.
CharAutomaton with_length(const CharAutomaton&, int least, int most);
// Any text of `allowed` characters but these.
CharAutomaton all_but(const std::vector<std::string>& texts, const CharSet& allowed);

// Any text in which the marker, all ASCII, does not stand.
CharAutomaton text_without(std::string_view marker);

// How characters are written.
enum class Writing {
  raw,   // as they are
  json,  // inside the quotes of a JSON string: escaped where they must be
};
// Leads from one state to another by the automaton's texts. Where any character may come, JSON's optional
// escapes may come too.
void add_chars(GrammarBuilder&, const CharAutomaton&, Writing, Grammar::State from, Grammar::State to);

}  // namespace lockstep::engine
