// Strings of the template language: UTF-8 that remembers which bytes came from data.
//
// Positions are byte offsets unless a name says otherwise. Bytes that are no UTF-8 count as one character
// each.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/tokenizer/marked_text.h"

namespace lockstep::engine::language {

struct Text : MarkedText {
  bool safe = false;  // result of the filters safe and escape: `+` escapes its other operand for HTML

  Text() = default;
  Text(std::string_view bytes, bool data) { append(bytes, data); }

  bool any_data() const;
  Text slice(size_t from, size_t to) const;
  void append_slice(const Text& other, size_t from, size_t to);
};
using TextPtr = std::shared_ptr<const Text>;

// Characters.
size_t characters(std::string_view text);
char32_t decode(std::string_view text, size_t& at);           // the character at `at`, which moves behind it
size_t byte_offset(std::string_view text, size_t character);  // of that character; text.size() past the end
size_t next_character(std::string_view text, size_t at);
size_t previous_character(std::string_view text, size_t at);

// First or last place of `wanted` at or after `from`, or before the end, or npos; in linear time whatever it
// is.
size_t find_text(std::string_view text, std::string_view wanted, size_t from = 0);
size_t find_last_text(std::string_view text, std::string_view wanted);

// Python's str.isspace() of one character, and the line ends of str.splitlines().
bool is_space(char32_t character);
bool is_line_end(char32_t character);
bool is_printable(char32_t character);

// [first, last) of the text without leading and trailing whitespace, or without the characters of `chars`.
enum class Side { left, right, both };
std::pair<size_t, size_t> strip_range(std::string_view text, Side side);
std::pair<size_t, size_t> strip_range(std::string_view text, Side side, std::string_view chars);

// Python's methods of these names, by Unicode's full case mappings.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);
std::string capitalize(std::string_view text);
std::string swapcase(std::string_view text);
std::string casefold(std::string_view text);

// Python's is...() methods by name ("isalpha", "islower", ...).
using CharacterTest = bool (*)(std::string_view text);
CharacterTest character_test(std::string_view method);  // nullptr if there is none

// &, <, >, ' and " as HTML entities; marks stay.
Text escape_html(const Text& text);

}  // namespace lockstep::engine::language
