#include "engine/tokenizer/added_tokens.h"

#include <algorithm>

#include "engine/tokenizer/characters.h"

namespace lockstep::engine {
namespace {

bool is_blank(uint32_t code) {
  const CharKind kind = CharTable::get().kind(code);
  return kind == CharKind::space || kind == CharKind::newline;
}

// Where the blanks that end at text[end] begin, not before `floor`.
size_t blanks_begin(std::string_view text, size_t floor, size_t end) {
  while (end > floor) {
    const size_t before = utf8_before(text, end);
    if (!is_blank(utf8_at(text, before).code)) break;
    end = before;
  }
  return end;
}

size_t blanks_end(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Character c = utf8_at(text, at);
    if (!is_blank(c.code)) break;
    at += c.bytes;
  }
  return at;
}

bool inside_word(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && is_word_character(utf8_at(text, utf8_before(text, begin)).code)) ||
         (end < text.size() && is_word_character(utf8_at(text, end).code));
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), by_first_(256) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    Range& range = by_first_[static_cast<uint8_t>(tokens_[i].content[0])];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
}

const AddedToken* AddedTokenMatcher::longest(std::string_view text) const {
  // tokens_[begin, end) agree with the text's first `depth` bytes.
  auto [begin, end] = by_first_[static_cast<uint8_t>(text[0])];
  const AddedToken* best = nullptr;
  for (size_t depth = 1; begin < end; ++depth) {
    if (tokens_[begin].content.size() == depth) best = &tokens_[begin++];
    if (depth == text.size()) break;
    const auto byte = static_cast<uint8_t>(text[depth]);
    const auto at = [&](uint32_t i) { return static_cast<uint8_t>(tokens_[i].content[depth]); };
    while (begin < end && at(begin) < byte) ++begin;
    while (begin < end && at(end - 1) > byte) --end;
  }
  return best;
}

std::vector<Piece> AddedTokenMatcher::split(std::string_view text, std::span<const ByteRange> own) const {
  std::vector<Piece> pieces;
  size_t done = 0;  // text before here is in `pieces`
  for (const ByteRange& range : own) {
    for (size_t at = range.begin; at < range.end;) {
      const Range candidates = by_first_[static_cast<uint8_t>(text[at])];
      const AddedToken* token = candidates.end > 0 ? longest(text.substr(at, range.end - at)) : nullptr;
      if (!token) {
        ++at;
        continue;
      }
      size_t begin = at, end = at + token->content.size();
      at = end;
      if (token->single_word && inside_word(text, begin, end)) continue;
      if (token->lstrip) begin = blanks_begin(text, done, begin);
      if (token->rstrip) end = blanks_end(text, std::max(end, done));  // up to `done` they are blanks
      if (done < begin) pieces.push_back({{done, begin}, -1});
      pieces.push_back({{begin, end}, token->id});
      done = end;
    }
  }
  if (done < text.size()) pieces.push_back({{done, text.size()}, -1});
  return pieces;
}

}  // namespace lockstep::engine
