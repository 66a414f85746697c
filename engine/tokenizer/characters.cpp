#include "engine/tokenizer/characters.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include <algorithm>

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

constexpr CharKind L = CharKind::letter, M = CharKind::mark, N = CharKind::number;

// Letters, marks and decimal digits that Unicode 15.1 and 16.0 added to 15.0.
struct KindRange {
  uint32_t first, last;
  CharKind kind;
};
constexpr KindRange later_kinds[] = {
    {0x897, 0x897, M},     {0x1C89, 0x1C8A, L},   {0xA7CB, 0xA7CD, L},   {0xA7DA, 0xA7DC, L},
    {0x105C0, 0x105F3, L}, {0x10D40, 0x10D49, N}, {0x10D4A, 0x10D65, L}, {0x10D69, 0x10D6D, M},
    {0x10D6F, 0x10D85, L}, {0x10EC2, 0x10EC4, L}, {0x10EFC, 0x10EFC, M}, {0x11380, 0x11389, L},
    {0x1138B, 0x1138B, L}, {0x1138E, 0x1138E, L}, {0x11390, 0x113B5, L}, {0x113B7, 0x113B7, L},
    {0x113B8, 0x113C0, M}, {0x113C2, 0x113C2, M}, {0x113C5, 0x113C5, M}, {0x113C7, 0x113CA, M},
    {0x113CC, 0x113D0, M}, {0x113D1, 0x113D1, L}, {0x113D2, 0x113D2, M}, {0x113D3, 0x113D3, L},
    {0x113E1, 0x113E2, M}, {0x116D0, 0x116E3, N}, {0x11BC0, 0x11BE0, L}, {0x11BF0, 0x11BF9, N},
    {0x11F5A, 0x11F5A, M}, {0x13460, 0x143FA, L}, {0x16100, 0x1611D, L}, {0x1611E, 0x1612F, M},
    {0x16130, 0x16139, N}, {0x16D40, 0x16D6C, L}, {0x16D70, 0x16D79, N}, {0x18CFF, 0x18CFF, L},
    {0x1CCF0, 0x1CCF9, N}, {0x1E5D0, 0x1E5ED, L}, {0x1E5EE, 0x1E5EF, M}, {0x1E5F0, 0x1E5F0, L},
    {0x1E5F1, 0x1E5FA, N}, {0x2EBF0, 0x2EE5D, L}};

// Whether the character came after the given version of Unicode.
bool newer_than(uint32_t code, uint8_t major, uint8_t minor) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(code), age);
  return age[0] > major || (age[0] == major && age[1] > minor);
}

bool is_nfc_border(uint32_t code) {
  const auto c = static_cast<UChar32>(code);
  return (u_getCombiningClass(c) == 0 && u_getIntPropertyValue(c, UCHAR_NFC_QUICK_CHECK) == UNORM_YES) ||
         !in_nfc(code);
}

UBool fill_kinds(const void* context, UChar32 start, UChar32 limit, UCharCategory category) {
  auto* entries = static_cast<uint8_t*>(const_cast<void*>(context));
  const CharKind kind = kind_of(category);
  for (auto code = static_cast<uint32_t>(start); code < static_cast<uint32_t>(limit); ++code) {
    const bool known = kind != CharKind::symbol && !newer_than(code, 15, 0);
    entries[code] = static_cast<uint8_t>(known ? kind : CharKind::symbol);
    if (category == U_UNASSIGNED || is_nfc_border(code)) entries[code] |= CharTable::border_bit;
  }
  return true;
}

}  // namespace

bool in_nfc(uint32_t code) { return !newer_than(code, 9, 0); }

CharTable::CharTable() : entries_(code_points) {
  u_enumCharTypes(fill_kinds, entries_.data());
  const auto set = [&](uint32_t code, CharKind kind) {
    entries_[code] = static_cast<uint8_t>((entries_[code] & border_bit) | static_cast<uint8_t>(kind));
  };
  for (const KindRange& range : later_kinds)
    for (uint32_t code = range.first; code <= range.last; ++code) set(code, range.kind);
  for (uint32_t code = 0; code < 0x10000; ++code)  // White_Space lies in the basic plane
    if (u_isUWhiteSpace(static_cast<UChar32>(code))) set(code, CharKind::space);
  set('\r', CharKind::newline);
  set('\n', CharKind::newline);
}

const CharTable& CharTable::get() {
  static const CharTable table;
  return table;
}

bool is_word_character(uint32_t code) {
  const auto holds = [&](const KindRange& range) { return range.first <= code && code <= range.last; };
  if (std::ranges::any_of(later_kinds, holds)) return true;
  if (newer_than(code, 15, 0)) return false;
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
