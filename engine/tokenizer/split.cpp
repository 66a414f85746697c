#include "engine/tokenizer/split.h"

#include "engine/tokenizer/characters.h"

namespace lockstep::engine {
namespace {

constexpr std::string_view letters_expression =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view letters_and_marks_expression =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
    "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

class Scanner {
 public:
  Scanner(SplitRule rule, std::string_view text) : rule_(rule), text_(text), table_(CharTable::get()) {}

  size_t word(size_t begin) const {
    const Place first = place(begin);
    switch (first.kind) {
      case CharKind::letter: return run(first.end, CharKind::letter) - begin;
      case CharKind::number: return first.end - begin;
      case CharKind::symbol: return symbol(begin, first.end) - begin;
      default: return space(begin, first) - begin;
    }
  }

 private:
  // A character's kind under the rule, and where it ends. Marks read as letters or as symbols.
  struct Place {
    CharKind kind;
    size_t end;
  };

  Place place(size_t at) const {
    const Utf8Character c = utf8_at(text_, at);
    CharKind kind = table_.kind(c.code);
    if (kind == CharKind::mark)
      kind = rule_ == SplitRule::letters_and_marks ? CharKind::letter : CharKind::symbol;
    return {kind, at + c.bytes};
  }

  bool kind_at(size_t at, CharKind kind) const { return at < text_.size() && place(at).kind == kind; }

  size_t run(size_t at, CharKind kind) const {
    while (at < text_.size()) {
      const Place here = place(at);
      if (here.kind != kind) break;
      at = here.end;
    }
    return at;
  }

  // End of (?i:'s|'t|'re|'ve|'m|'ll|'d) at an apostrophe that ends at `at`, or 0. Case folding makes
  // U+017F an s.
  size_t contraction(size_t at) const {
    const auto letter = [&](size_t i) { return i < text_.size() ? text_[i] | 0x20 : 0; };
    const int first = letter(at), second = letter(at + 1);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 1;
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
      return at + 2;
    return text_.substr(at).starts_with("\xC5\xBF") ? at + 2 : 0;
  }

  size_t symbol(size_t begin, size_t end) const {
    if (text_[begin] == '\'')
      if (const size_t contracted = contraction(end)) return contracted;
    if (kind_at(end, CharKind::letter)) return run(end, CharKind::letter);
    return run(run(end, CharKind::symbol), CharKind::newline);
  }

  size_t space(size_t begin, Place first) const {
    if (first.kind == CharKind::space) {
      if (kind_at(first.end, CharKind::letter)) return run(first.end, CharKind::letter);
      if (text_[begin] == ' ' && kind_at(first.end, CharKind::symbol))
        return run(run(first.end, CharKind::symbol), CharKind::newline);
    }
    // \s*[\r\n]+ up to the last newline of the run of blanks, else \s+(?!\S): the run, less its last blank
    // when something follows and it is not alone.
    size_t at = begin, last = begin, after_newline = 0;
    while (at < text_.size()) {
      const Place here = place(at);
      if (here.kind != CharKind::space && here.kind != CharKind::newline) break;
      if (here.kind == CharKind::newline) after_newline = here.end;
      last = at;
      at = here.end;
    }
    if (after_newline > 0) return after_newline;
    return at < text_.size() && last > begin ? last : at;
  }

  SplitRule rule_;
  std::string_view text_;
  const CharTable& table_;
};

}  // namespace

std::optional<SplitRule> split_rule(std::string_view expression) {
  if (expression == letters_expression) return SplitRule::letters;
  if (expression == letters_and_marks_expression) return SplitRule::letters_and_marks;
  return std::nullopt;
}

size_t word_length(SplitRule rule, std::string_view text, size_t at) { return Scanner(rule, text).word(at); }

}  // namespace lockstep::engine
