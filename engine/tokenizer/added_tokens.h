// Added tokens: strings that become one token wherever they stand, whatever BPE would make of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/normalize.h"

namespace lockstep::engine {

// As in `added_tokens` of tokenizer.json.
struct AddedToken {
  int32_t id;
  std::string content;
  bool single_word = false;  // not inside a word: no \w on either side
  bool lstrip = false;       // takes the blanks before it along
  bool rstrip = false;       // takes the blanks after it along
  bool normalized = false;   // matched in the normalized text, else in the raw one
  bool special = false;      // not part of a reply's text
};

// A part of a text: one added token, or what lies between two.
struct Piece {
  ByteRange range;
  int32_t id;  // -1: plain text
};

// Finds the added tokens of a text, leftmost first, of several at one place the longest, as Hugging Face's
// tokenizers do. Threads: const members may be called from any thread.
class AddedTokenMatcher {
 public:
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);
  bool empty() const { return tokens_.empty(); }

  // A token counts only when it lies in one of the `own` ranges, which are ascending and do not overlap.
  std::vector<Piece> split(std::string_view text, std::span<const ByteRange> own) const;

 private:
  const AddedToken* longest(std::string_view text) const;

  std::vector<AddedToken> tokens_;  // by content
  struct Range {
    uint32_t begin = 0, end = 0;
  };
  std::vector<Range> by_first_;  // tokens_ that begin with each byte
};

}  // namespace lockstep::engine
