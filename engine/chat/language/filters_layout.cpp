// Filters that lay text out: center, indent, truncate, wordcount, wordwrap.
#include <unicode/uchar.h>

#include <algorithm>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

Text need_text(const Value& value, const char* filter) {
  if (value.is(Kind::undefined)) throw Fault(value.text().text);
  if (!value.is(Kind::string)) throw Fault(std::string(filter) + " needs a string, not " + type_name(value));
  return value.text();
}

Value center(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("center", arguments, {"width"});
  const Value text = Value::string(to_text(value, render.meter));
  Arguments inner;
  inner.positional.push_back(Value::integer(given.integer(0, 80)));
  return find_method(text, "center")->function(render, text, inner);
}

Value indent(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("indent", arguments, {"width", "first", "blank"});
  Text text = need_text(value, "indent");
  const Text by = given[0] && given[0]->is(Kind::string)
                      ? given[0]->text()
                      : repeat(render, Text(" ", false), given.integer(0, 4));
  const bool first = given.flag(1, false), blank = given.flag(2, false);
  text.append("\n", false);  // so that a last line end counts as a line
  Text result;
  result.safe = text.safe;
  bool start = true;
  for (const Text& line : lines_of(render, text, false)) {
    if (!start) {
      result.append("\n", false);
      if (blank || !line.text.empty()) result.append(by);
    } else if (first) {
      result.append(by);
    }
    start = false;
    result.append(line);
    check_text_bytes(result.text.size());
    render.meter.charge(by.text.size());
  }
  return Value::string(std::move(result));
}

Value truncate(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("truncate", arguments, {"length", "killwords", "end", "leeway"});
  static const Text dots("...", false);
  const Text& end = given[2] ? given.text(2) : dots;
  const int64_t length = given.integer(0, 255), tail = static_cast<int64_t>(characters(end.text));
  const int64_t leeway = given.unless_none(3) ? need_integer(*given[3]) : 5;
  if (length < tail)
    throw Fault("expected length >= " + std::to_string(tail) + ", got " + std::to_string(length));
  if (leeway < 0) throw Fault("expected leeway >= 0, got " + std::to_string(leeway));
  if (value.is(Kind::string)) render.meter.charge(value.text().text.size());
  if (static_cast<int64_t>(language::length(value)) <= length + leeway) return value;
  const Text text = need_text(value, "truncate");
  size_t cut = byte_offset(text.text, static_cast<size_t>(length - tail));
  if (!given.flag(1, false)) {
    const size_t space = std::string_view(text.text).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  Text result = text.slice(0, cut);
  result.append(end);
  return Value::string(std::move(result));
}

bool is_word(char32_t c) {
  return c == '_' || u_isalpha(static_cast<UChar32>(c)) ||
         u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

Value word_count(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("wordcount", arguments, {});
  const Text text = to_text(value, render.meter);
  render.meter.charge(text.text.size() * Meter::per_character);
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.text.size();) {
    const bool word = is_word(decode(text.text, at));
    words += word && !inside;
    inside = word;
  }
  return Value::integer(words);
}

// Breaks one line as Python's textwrap does: at blanks, behind hyphens inside of words, around dashes of two
// or more hyphens, and inside of words that are too long.
class Wrapper {
 public:
  Wrapper(const Text& line, size_t width, bool break_long, bool break_hyphens)
      : line_(line), width_(width), break_long_(break_long), break_hyphens_(break_hyphens) {
    for (size_t at = 0; at < line.text.size();) {
      offsets_.push_back(at);
      characters_.push_back(decode(line.text, at));
    }
    offsets_.push_back(line.text.size());
  }

  std::vector<Text> run(Render& render) {
    for (size_t at = 0; at < characters_.size(); at = chunks_.back().second)
      chunks_.emplace_back(at, chunk_end(at));
    std::vector<Text> lines;
    size_t at = 0;
    while (at < chunks_.size()) {
      if (blank(chunks_[at].first, chunks_[at].second) && !lines.empty() && ++at >= chunks_.size()) break;
      const size_t begin = chunks_[at].first, from = at;
      while (at < chunks_.size() && chunks_[at].second - begin <= width_) ++at;
      size_t end = begin;
      if (at < chunks_.size() && break_long_ && chunks_[at].second - chunks_[at].first > width_) {
        const size_t piece = chunks_[at].first, cut = cut_at(chunks_[at], begin + width_);
        end = blank(piece, cut) ? piece : cut;
        chunks_[at].first = cut;
      } else {
        if (at == from) ++at;  // a long word alone on its line
        const auto& last = chunks_[at - 1];
        end = blank(last.first, last.second) ? last.first : last.second;
      }
      render.meter.charge(end - begin + Meter::value_bytes + line_.runs.size());
      if (end > begin) lines.push_back(line_.slice(offsets_[begin], offsets_[end]));
    }
    return lines;
  }

 private:
  bool is(size_t at, bool (*test)(char32_t)) const {
    return at < characters_.size() && test(characters_[at]);
  }
  static bool space(char32_t c) { return c == ' ' || (c >= 9 && c <= 13); }
  static bool hyphen(char32_t c) { return c == '-'; }
  static bool letter(char32_t c) { return is_word(c) && !u_isdigit(static_cast<UChar32>(c)); }
  static bool in_word(char32_t c) {
    return is_word(c) || c == '!' || c == '"' || c == '\'' || c == '&' || c == '.' || c == ',' || c == '?';
  }
  bool blank(size_t from, size_t to) const {
    return std::all_of(characters_.begin() + static_cast<std::ptrdiff_t>(from),
                       characters_.begin() + static_cast<std::ptrdiff_t>(to), is_space);
  }

  // A dash at `at` between words: its end, else 0.
  size_t dash_end(size_t at) const {
    if (at == 0 || !is(at - 1, in_word)) return 0;
    size_t end = at;
    while (is(end, hyphen)) ++end;
    return end >= at + 2 && is(end, is_word) ? end : 0;
  }
  bool breaks_behind(size_t at) const {  // a hyphen
    if (!is(at, hyphen)) return false;
    const bool before = (at >= 2 && is(at - 1, letter) && is(at - 2, letter)) ||
                        (at >= 3 && is(at - 1, in_word) && is(at - 2, hyphen) && is(at - 3, letter));
    return before && is(at + 1, letter) && is(is(at + 2, hyphen) ? at + 3 : at + 2, letter);
  }

  size_t chunk_end(size_t at) const {
    size_t end = at;
    if (is(at, space)) {
      while (is(end, space)) ++end;
      return end;
    }
    if (break_hyphens_)
      if (const size_t dash = dash_end(at)) return dash;
    for (end = at + 1; end < characters_.size() && !is(end, space); ++end) {
      if (!break_hyphens_) continue;
      if (breaks_behind(end)) return end + 1;
      if (is(end, hyphen) && dash_end(end)) return end;
    }
    return end;
  }

  // Where a chunk that is longer than a line is cut to end at `limit`.
  size_t cut_at(const std::pair<size_t, size_t>& chunk, size_t limit) const {
    if (!break_hyphens_) return limit;
    size_t last = limit;
    while (last > chunk.first && !is(last - 1, hyphen)) --last;
    size_t first = chunk.first;
    while (first + 1 < last && is(first, hyphen)) ++first;
    return first + 1 < last ? last : limit;
  }

  const Text& line_;
  size_t width_;
  bool break_long_, break_hyphens_;
  std::vector<char32_t> characters_;
  std::vector<size_t> offsets_;                    // of the characters, and the end
  std::vector<std::pair<size_t, size_t>> chunks_;  // of characters
};

Value word_wrap(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("wordwrap", arguments,
                         {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const Text text = need_text(value, "wordwrap");
  const int64_t width = given.integer(0, 79);
  if (width <= 0) throw Fault("invalid width " + std::to_string(width) + " (must be > 0)");
  static const Text newline("\n", false);
  const Text& wrap = given.unless_none(2) ? given.text(2) : newline;
  render.meter.charge(text.text.size() * 32);
  std::vector<Text> lines;
  for (const Text& line : lines_of(render, text, false)) {
    Wrapper wrapper(line, static_cast<size_t>(width), given.flag(1, true), given.flag(3, true));
    lines.push_back(join(render, wrap, wrapper.run(render)));
  }
  return Value::string(join(render, wrap, lines));
}

constexpr Named<FilterFunction> filters[] = {{"center", center},
                                             {"indent", indent},
                                             {"truncate", truncate},
                                             {"wordcount", word_count},
                                             {"wordwrap", word_wrap}};

}  // namespace

FilterFunction find_layout_filter(std::string_view name) { return find_named(filters, name); }

}  // namespace lockstep::engine::language
