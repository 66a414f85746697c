// What the tokenizer knows about single characters: UTF-8, kinds for the pre-tokenizer, borders for NFC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

// General categories L, M and N; White_Space without and with CR and LF; everything else. Of Unicode 16.0,
// whatever version ICU has: the ids of a text must not change with a system library. It is the version that
// Hugging Face's tokenizers 0.22 splits by (Oniguruma 6.9.10).
enum class CharKind : uint8_t { letter, mark, number, space, newline, symbol };

// Whether NFC knows the character: characters that came after Unicode 9.0 are left alone, for the same
// reason (tokenizers normalizes by the data of unicode-normalization-alignments 0.1.12).
bool in_nfc(uint32_t code);

// One entry per code point, built once. Threads: read only.
class CharTable {
 public:
  static constexpr uint8_t border_bit = 8;
  static const CharTable& get();

  CharKind kind(uint32_t code) const { return static_cast<CharKind>(entries_[code] & ~border_bit); }
  // NFC can be computed on both sides of the place before this character by itself:
  // canonical combining class 0 and NFC_Quick_Check = Yes (UAX #15).
  bool nfc_border(uint32_t code) const { return (entries_[code] & border_bit) != 0; }

 private:
  CharTable();
  std::vector<uint8_t> entries_;  // a CharKind, and border_bit
};

// \w of UTS #18 annex C: Alphabetic, M, Nd, Pc, Join_Control.
bool is_word_character(uint32_t code);

struct Utf8Character {
  uint32_t code;
  uint32_t bytes;
};

// The character at text[at]. Text is valid UTF-8; a damaged sequence reads as one byte U+FFFD.
inline Utf8Character utf8_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint32_t first = byte(0);
  const size_t left = text.size() - at;
  if (first < 0x80) return {first, 1};
  if (first < 0xE0 && first >= 0xC2 && left >= 2) return {(first & 0x1F) << 6 | (byte(1) & 0x3Fu), 2};
  if (first < 0xF0 && first >= 0xE0 && left >= 3)
    return {(first & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3};
  if (first < 0xF5 && first >= 0xF0 && left >= 4) {
    const uint32_t code =
        (first & 0x07) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    if (code < 0x110000) return {code, 4};
  }
  return {0xFFFD, 1};
}

// Where the character that ends at text[end] begins; end > 0.
inline size_t utf8_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

void append_utf8(uint32_t code, std::string& text);

// Length of the longest prefix of `text` that is a well-formed character or could become one with more
// bytes, 0 when its first byte cannot start one. `complete` tells the two apart. (Unicode 15, table 3-7.)
size_t utf8_prefix(std::string_view text, bool& complete);

}  // namespace lockstep::engine
