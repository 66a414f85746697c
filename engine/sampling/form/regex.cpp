#include "engine/sampling/form/regex.h"

#include <array>
#include <memory>

#include "engine/chat/language/text.h"

namespace lockstep::engine {
namespace {

constexpr int max_nesting = 64, max_count = 1000;

struct Unsupported {};

struct Part {
  enum class Kind { chars, sequence, choice, repeat, begin, end } kind;
  CharSet set;               // chars
  std::vector<Part> parts;   // sequence, choice; repeat: one
  int least = 0, most = -1;  // repeat; most < 0: no limit
};

CharSet digits() { return {'0', '9'}; }
CharSet word() {
  CharSet set('0', '9');
  set.add('a', 'z');
  set.add('A', 'Z');
  set.add('_', '_');
  return set;
}
CharSet line_ends() {
  CharSet set('\n', '\n');
  set.add('\r', '\r');
  set.add(0x2028, 0x2029);
  return set;
}
CharSet blanks() {
  CharSet set = line_ends();
  set.add('\t', '\r');
  for (const char32_t c : {0x20, 0xa0, 0x1680, 0x202f, 0x205f, 0x3000, 0xfeff}) set.add(c, c);
  set.add(0x2000, 0x200a);
  return set;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Part parse() {
    Part all = choice(0);
    if (at_ < text_.size()) fail("an unmatched )");
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw PatternError("the pattern has " + what + " at byte " + std::to_string(at_));
  }
  bool more() const { return at_ < text_.size(); }
  char peek() const { return text_[at_]; }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Part choice(int depth) {
    if (depth > max_nesting)
      throw PatternError("the pattern is nested deeper than " + std::to_string(max_nesting));
    Part all{Part::Kind::choice, {}, {}};
    do {
      Part sequence{Part::Kind::sequence, {}, {}};
      while (more() && peek() != '|' && peek() != ')') sequence.parts.push_back(term(depth));
      all.parts.push_back(std::move(sequence));
    } while (take("|"));
    return all;
  }

  Part term(int depth) {
    if (take("^")) return {Part::Kind::begin, {}, {}};
    if (take("$")) return {Part::Kind::end, {}, {}};
    return repeated(atom(depth));
  }

  Part atom(int depth) {
    if (take("(")) return group(depth);
    if (take("[")) return {Part::Kind::chars, char_class(), {}};
    if (take(".")) return {Part::Kind::chars, line_ends().inverse(), {}};
    if (take("\\")) return {Part::Kind::chars, escape(), {}};
    if (std::string_view("*+?").find(peek()) != std::string_view::npos) fail("nothing to repeat");
    const char32_t c = language::decode(text_, at_);
    return {Part::Kind::chars, CharSet(c, c), {}};
  }

  Part group(int depth) {
    if (take("?")) {
      if (take("<") && more() && peek() != '=' && peek() != '!') {
        const size_t end = text_.find('>', at_);
        if (end == std::string_view::npos) fail("a group without a name");
        at_ = end + 1;
      } else if (!take(":")) {
        throw Unsupported();
      }
    }
    Part inside = choice(depth + 1);
    if (!take(")")) fail("an unmatched (");
    return inside;
  }

  Part repeated(Part part) {
    int least = 1, most = 1;
    if (take("*")) {
      least = 0, most = -1;
    } else if (take("+")) {
      most = -1;
    } else if (take("?")) {
      least = 0;
    } else if (!counts(least, most)) {
      return part;
    }
    take("?");  // lazy: the same texts
    if (more() && std::string_view("*+?").find(peek()) != std::string_view::npos) fail("nothing to repeat");
    Part out{Part::Kind::repeat, {}, {}, least, most};
    out.parts.push_back(std::move(part));
    return out;
  }

  // {n}, {n,} or {n,m}; any other { is a character.
  bool counts(int& least, int& most) {
    if (!more() || peek() != '{') return false;
    const size_t before = at_++;
    const auto number = [&](int& value) {
      const size_t from = at_;
      for (value = 0; more() && peek() >= '0' && peek() <= '9'; ++at_)
        value = std::min(value * 10 + (peek() - '0'), max_count + 1);
      return at_ > from;
    };
    if (number(least)) {
      most = least;
      if (take(",")) {
        most = -1;
        if (int given; number(given)) most = given;
      }
      if (take("}")) {
        if (least > max_count || most > max_count)
          throw FormError("a count in the pattern is above " + std::to_string(max_count));
        if (most >= 0 && most < least) fail("counts out of order");
        return true;
      }
    }
    at_ = before;
    least = most = 1;
    return false;
  }

  CharSet char_class() {
    const bool inverted = take("^");
    CharSet set;
    while (!take("]")) {
      if (!more()) fail("an unmatched [");
      char32_t low = 0;
      const CharSet first = class_atom(low);
      if (more() && peek() == '-' && text_.substr(at_, 2) != "-]") {
        ++at_;
        if (!more()) fail("an unmatched [");
        char32_t high = 0;
        const CharSet last = class_atom(high);
        if (single(first) && single(last)) {
          if (high < low) fail("a range out of order");
          set.add(low, high);
          continue;
        }
        set.add('-', '-');
        set.add(last);
      }
      set.add(first);
    }
    return inverted ? set.inverse() : set;
  }
  static bool single(const CharSet& set) {
    return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].second;
  }
  CharSet class_atom(char32_t& c) {
    CharSet set;
    if (take("\\")) {
      set = take("b") ? CharSet('\b', '\b') : take("-") ? CharSet('-', '-') : escape();
    } else {
      const char32_t plain = language::decode(text_, at_);
      set = CharSet(plain, plain);
    }
    if (single(set)) c = set.ranges()[0].first;
    return set;
  }

  char32_t hex(size_t count) {
    char32_t value = 0;
    for (size_t i = 0; i < count; ++i, ++at_) {
      const size_t digit = more()
                               ? std::string_view("0123456789abcdef").find(static_cast<char>(peek() | 0x20))
                               : std::string_view::npos;
      if (digit == std::string_view::npos || (peek() < '0')) fail("an unfinished escape");
      value = value << 4 | static_cast<char32_t>(digit);
    }
    return value;
  }

  CharSet escape() {
    if (!more()) fail("a \\ at its end");
    const char c = text_[at_++];
    const auto one = [](char32_t which) { return CharSet(which, which); };
    switch (c) {
      case 'd': return digits();
      case 'D': return digits().inverse();
      case 'w': return word();
      case 'W': return word().inverse();
      case 's': return blanks();
      case 'S': return blanks().inverse();
      case 't': return one('\t');
      case 'n': return one('\n');
      case 'r': return one('\r');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case '0': return one(0);
      case 'x': return one(hex(2));
      case 'u': return unicode();
      case 'b':
      case 'B':
      case 'p':
      case 'P':
      case 'k':
      case 'c': throw Unsupported();
      default: break;
    }
    if (c >= '1' && c <= '9') throw Unsupported();
    --at_;
    const char32_t plain = language::decode(text_, at_);
    return one(plain);
  }
  CharSet unicode() {
    char32_t c = 0;
    if (take("{")) {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos || end - at_ > 6 || end == at_) fail("an unfinished escape");
      c = hex(end - at_);
      ++at_;
    } else {
      c = hex(4);
      if (c >= 0xd800 && c < 0xdc00 && take("\\u")) c = 0x10000 + ((c - 0xd800) << 10) + (hex(4) - 0xdc00);
    }
    if ((c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff) fail("an escape that is no character");
    return {c, c};
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Thompson's construction. Returns the node behind the part.
class Emitter {
 public:
  explicit Emitter(CharAutomaton& out) : out_(out) {}

  // Alternatives of the whole pattern: without an anchor any text may stand before or behind.
  void emit_all(const Part& choice) {
    out_.start = out_.node();
    for (const Part& sequence : choice.parts) {
      size_t first = 0, last = sequence.parts.size();
      while (first < last && sequence.parts[first].kind == Part::Kind::begin) ++first;
      while (last > first && sequence.parts[last - 1].kind == Part::Kind::end) --last;
      int at = out_.node();
      out_.nodes[out_.start].skips.push_back(at);
      if (first == 0) out_.nodes[at].edges.push_back({CharSet::all(), at});
      for (size_t i = first; i < last; ++i) at = emit(sequence.parts[i], at);
      const int end = out_.node();
      out_.nodes[at].skips.push_back(end);
      if (last == sequence.parts.size()) out_.nodes[end].edges.push_back({CharSet::all(), end});
      out_.nodes[end].accept = true;
    }
  }

 private:
  int emit(const Part& part, int from) {
    switch (part.kind) {
      case Part::Kind::chars: {
        const int to = out_.node();
        out_.nodes[from].edges.push_back({part.set, to});
        return to;
      }
      case Part::Kind::sequence:
        for (const Part& each : part.parts) from = emit(each, from);
        return from;
      case Part::Kind::choice: {
        const int to = out_.node();
        for (const Part& each : part.parts) {
          const int begin = out_.node();
          out_.nodes[from].skips.push_back(begin);
          const int end = emit(each, begin);
          out_.nodes[end].skips.push_back(to);
        }
        return to;
      }
      case Part::Kind::repeat: return repeat(part, from);
      case Part::Kind::begin:
      case Part::Kind::end: break;
    }
    throw Unsupported();
  }
  int repeat(const Part& part, int from) {
    for (int i = 0; i < part.least; ++i) from = emit(part.parts[0], from);
    const int to = out_.node();
    if (part.most < 0) {
      const int loop = out_.node();
      out_.nodes[from].skips.push_back(loop);
      const int end = emit(part.parts[0], loop);
      out_.nodes[end].skips.push_back(loop);
      out_.nodes[loop].skips.push_back(to);
      return to;
    }
    for (int i = part.least; i < part.most; ++i) {
      out_.nodes[from].skips.push_back(to);
      from = emit(part.parts[0], from);
    }
    out_.nodes[from].skips.push_back(to);
    return to;
  }

  CharAutomaton& out_;
};

#define LOCKSTEP_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define LOCKSTEP_DATE                                                                      \
  "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|" \
  "02-(0[1-9]|1[0-9]|2[0-8]))"
#define LOCKSTEP_TIME \
  "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define LOCKSTEP_OCTET "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> formats{{
    {"date", "^" LOCKSTEP_DATE "$"},
    {"time", "^" LOCKSTEP_TIME "$"},
    {"date-time", "^" LOCKSTEP_DATE "T" LOCKSTEP_TIME "$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"ipv4", "^(" LOCKSTEP_OCTET "\\.){3}" LOCKSTEP_OCTET "$"},
    {"email", "^[A-Za-z0-9_+-]+(\\.[A-Za-z0-9_+-]+)*@" LOCKSTEP_LABEL "(\\." LOCKSTEP_LABEL ")+$"},
    {"hostname", "^" LOCKSTEP_LABEL "(\\." LOCKSTEP_LABEL "){0,3}$"},
}};

}  // namespace

std::optional<CharAutomaton> compile_pattern(std::string_view pattern) {
  try {
    const Part all = Parser(pattern).parse();
    CharAutomaton out;
    Emitter(out).emit_all(all);
    return out;
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

std::string_view pattern_of_format(std::string_view format) {
  for (const auto& [name, pattern] : formats)
    if (name == format) return pattern;
  return {};
}

}  // namespace lockstep::engine
