// Filters that lay text out: center, indent, truncate, wordcount, wordwrap.
#include <unicode/uchar.h>

#include <algorithm>

#include "engine/chat/language/builtins.h"

namespace lockstep::engine::language {
namespace {

// The lines of str.splitlines().
std::vector<Text> lines_of(const Text& text) {
  std::vector<Text> lines;
  const std::string_view bytes = text.text;
  size_t from = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = at;
    const char32_t c = decode(bytes, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    lines.push_back(text.slice(from, end));
    from = at;
  }
  if (from < bytes.size()) lines.push_back(text.slice(from, bytes.size()));
  return lines;
}

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
  render.meter.charge(text.text.size() * (1 + text.runs.size() / 16));
  Text result;
  result.safe = text.safe;
  bool start = true;
  for (const Text& line : lines_of(text)) {
    if (!start) {
      result.append("\n", false);
      if (blank || !line.text.empty()) result.append(by);
    } else if (first) {
      result.append(by);
    }
    start = false;
    result.append(line);
    if (result.text.size() > max_text_bytes) throw Fault("a text grows past 64 MiB");
    render.meter.charge(by.text.size() + line.text.size());
  }
  return Value::string(std::move(result));
}

Value truncate(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("truncate", arguments, {"length", "killwords", "end", "leeway"});
  static const Text dots("...", false);
  const Text& end = given[2] ? given.text(2) : dots;
  const int64_t length = given.integer(0, 255), tail = static_cast<int64_t>(characters(end.text));
  const int64_t leeway = given[3] && !given[3]->is(Kind::none) ? need_integer(*given[3]) : 5;
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
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.text.size();) {
    const bool word = is_word(decode(text.text, at));
    words += word && !inside;
    inside = word;
  }
  return Value::integer(words);
}

// Breaks one line at blanks, and words that are too long. Sizes are in characters.
class Wrapper {
 public:
  Wrapper(const Text& line, size_t width, bool break_long, bool break_hyphens)
      : line_(line),
        bytes_(line.text),
        width_(width),
        break_long_(break_long),
        break_hyphens_(break_hyphens) {}

  std::vector<Text> run() {
    split();
    std::vector<Text> lines;
    size_t at = 0;
    while (at < chunks_.size()) {
      if (blank(chunks_[at]) && !lines.empty() && ++at >= chunks_.size())
        break;  // no blanks at a line's start
      size_t from = at, used = 0;
      while (at < chunks_.size() && used + size(chunks_[at]) <= width_) used += size(chunks_[at++]);
      bool broken = false;
      if (at < chunks_.size() && size(chunks_[at]) > width_) broken = place_long(at, used, from);
      size_t last = at;
      if (!broken && last > from && blank(chunks_[last - 1])) --last;
      if (last > from) lines.push_back(line_.slice(chunks_[from].first, chunks_[last - 1].second));
    }
    return lines;
  }

 private:
  using Chunk = std::pair<size_t, size_t>;
  std::string_view text(const Chunk& chunk) const {
    return bytes_.substr(chunk.first, chunk.second - chunk.first);
  }
  size_t size(const Chunk& chunk) const { return characters(text(chunk)); }
  static bool ascii_space(char c) { return c == ' ' || (c >= 9 && c <= 13); }
  bool blank(const Chunk& chunk) const {
    return strip_range(text(chunk), Side::left).first == chunk.second - chunk.first;
  }

  void split() {
    for (size_t at = 0; at < bytes_.size();) {
      const size_t from = at;
      const bool space = ascii_space(bytes_[at]);
      while (at < bytes_.size() && ascii_space(bytes_[at]) == space) ++at;
      if (space || !break_hyphens_)
        chunks_.emplace_back(from, at);
      else
        split_hyphens(from, at);
    }
  }

  // A word may break behind a hyphen between two letters and two more.
  void split_hyphens(size_t from, size_t to) {
    const auto letter = [&](size_t at) {
      if (at >= to) return false;
      const char32_t c = decode(bytes_, at);
      return is_word(c) && u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE) == U_NT_NONE;
    };
    size_t start = from;
    for (size_t at = from; at < to; at = next_character(bytes_, at)) {
      if (bytes_[at] != '-' || at < start + 2) continue;
      const size_t before = previous_character(bytes_, at);
      if (before <= start) continue;
      const size_t earlier = previous_character(bytes_, before);
      const size_t next = at + 1, later = next < to ? next_character(bytes_, next) : to;
      if (!letter(before) || !letter(earlier) || !letter(next) ||
          !(letter(later) || (later < to && bytes_[later] == '-')))
        continue;
      chunks_.emplace_back(start, next);
      start = next;
    }
    if (start < to) chunks_.emplace_back(start, to);
  }

  // A chunk longer than a line; true if it is cut in two. Python then keeps blanks before the cut.
  bool place_long(size_t& at, size_t used, size_t from) {
    const size_t space = width_ - used;
    if (!break_long_) {
      if (at == from) ++at;  // alone on its line
      return false;
    }
    if (space == 0) return true;
    const Chunk chunk = chunks_[at];
    size_t cut = chunk.first + byte_offset(text(chunk), space);
    if (break_hyphens_) {
      const size_t hyphen = bytes_.substr(0, cut).rfind('-');
      if (hyphen != std::string_view::npos && hyphen > chunk.first &&
          bytes_.substr(chunk.first, hyphen - chunk.first).find_first_not_of('-') != std::string_view::npos)
        cut = hyphen + 1;
    }
    chunks_[at] = {cut, chunk.second};
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at), {chunk.first, cut});
    ++at;
    return true;
  }

  const Text& line_;
  std::string_view bytes_;
  size_t width_;
  bool break_long_, break_hyphens_;
  std::vector<Chunk> chunks_;
};

Value word_wrap(Render& render, const Value& value, Arguments& arguments) {
  const Parameters given("wordwrap", arguments,
                         {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const Text text = need_text(value, "wordwrap");
  const int64_t width = given.integer(0, 79);
  if (width <= 0) throw Fault("invalid width " + std::to_string(width) + " (must be > 0)");
  static const Text newline("\n", false);
  const Text& wrap = given[2] && !given[2]->is(Kind::none) ? given.text(2) : newline;
  render.meter.charge(text.text.size() * (8 + text.runs.size() / 16));
  std::vector<Text> lines;
  for (const Text& line : lines_of(text)) {
    Wrapper wrapper(line, static_cast<size_t>(width), given.flag(1, true), given.flag(3, true));
    lines.push_back(join(render, wrap, wrapper.run()));
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
