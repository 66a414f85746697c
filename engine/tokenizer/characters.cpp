#include "engine/tokenizer/characters.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>

namespace lockstep::engine {
namespace {

constexpr uint32_t code_points = 0x110000;

CharKind kind_of(UCharCategory category) {
  switch (category) {
    case U_UPPERCASE_LETTER:
    case U_LOWERCASE_LETTER:
    case U_TITLECASE_LETTER:
    case U_MODIFIER_LETTER:
    case U_OTHER_LETTER: return CharKind::letter;
    case U_NON_SPACING_MARK:
    case U_ENCLOSING_MARK:
    case U_COMBINING_SPACING_MARK: return CharKind::mark;
    case U_DECIMAL_DIGIT_NUMBER:
    case U_LETTER_NUMBER:
    case U_OTHER_NUMBER: return CharKind::number;
    default: return CharKind::symbol;
  }
}

UBool fill_kinds(const void* context, UChar32 start, UChar32 limit, UCharCategory category) {
  auto* entries = static_cast<uint8_t*>(const_cast<void*>(context));
  const auto kind = static_cast<uint8_t>(kind_of(category));
  for (UChar32 c = start; c < limit; ++c) entries[c] = kind;
  return true;
}

}  // namespace

CharTable::CharTable() : entries_(code_points) {
  u_enumCharTypes(fill_kinds, entries_.data());
  const auto set = [&](uint32_t code, CharKind kind) { entries_[code] = static_cast<uint8_t>(kind); };
  for (uint32_t code = 0; code < 0x10000; ++code)  // White_Space lies in the basic plane
    if (u_isUWhiteSpace(static_cast<UChar32>(code))) set(code, CharKind::space);
  set('\r', CharKind::newline);
  set('\n', CharKind::newline);
  for (uint32_t code = 0; code < code_points; ++code) {
    const auto c = static_cast<UChar32>(code);
    if (code < 0x300 ||
        (u_getCombiningClass(c) == 0 && u_getIntPropertyValue(c, UCHAR_NFC_QUICK_CHECK) == UNORM_YES))
      entries_[code] |= 8;
  }
}

const CharTable& CharTable::get() {
  static const CharTable table;
  return table;
}

bool is_word_character(uint32_t code) {
  const auto c = static_cast<UChar32>(code);
  return u_isUAlphabetic(c) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
         (U_GET_GC_MASK(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0;
}

void append_utf8(uint32_t code, std::string& text) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

size_t utf8_prefix(std::string_view text, bool& complete) {
  complete = false;
  if (text.empty()) return 0;
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) {
    complete = true;
    return 1;
  }
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  size_t at = 1;
  for (; at < length && at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    uint8_t low = 0x80, high = 0xBF;
    if (at == 1) {
      if (first == 0xE0) low = 0xA0;
      if (first == 0xED) high = 0x9F;
      if (first == 0xF0) low = 0x90;
      if (first == 0xF4) high = 0x8F;
    }
    if (byte < low || byte > high) break;
  }
  complete = at == length;
  return at;
}

}  // namespace lockstep::engine
