// Characters' classes and case mappings: Python's str methods by way of ICU.
#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/chat/language/fault.h"
#include "engine/chat/language/text.h"
#include "engine/tokenizer/characters.h"

namespace lockstep::engine::language {

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_line_end(char32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (u_charType(static_cast<UChar32>(c))) {
    case U_UNASSIGNED:
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_PRIVATE_USE_CHAR:
    case U_SURROGATE:
    case U_SPACE_SEPARATOR:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR: return false;
    default: return true;
  }
}

namespace {

std::vector<UChar> to_utf16(std::string_view text) {
  std::vector<UChar> units(text.size() + 1);
  int32_t length = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF8WithSub(units.data(), static_cast<int32_t>(units.size()), &length, text.data(),
                       static_cast<int32_t>(text.size()), 0xFFFD, nullptr, &status);
  if (U_FAILURE(status)) throw Fault("a text cannot be converted");
  units.resize(static_cast<size_t>(length));
  return units;
}

std::string to_utf8(const std::vector<UChar>& units, size_t length) {
  std::string text(length * 3 + 1, '\0');
  int32_t bytes = 0;
  UErrorCode status = U_ZERO_ERROR;
  u_strToUTF8WithSub(text.data(), static_cast<int32_t>(text.size()), &bytes, units.data(),
                     static_cast<int32_t>(length), 0xFFFD, nullptr, &status);
  if (U_FAILURE(status)) throw Fault("a text cannot be converted");
  text.resize(static_cast<size_t>(bytes));
  return text;
}

using Mapping = int32_t (*)(UChar*, int32_t, const UChar*, int32_t, UErrorCode*);

std::string map_case(std::string_view text, Mapping mapping, char ascii_first, char ascii_last, int shift) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; })) {
    std::string result(text);
    for (char& c : result)
      if (c >= ascii_first && c <= ascii_last) c = static_cast<char>(c + shift);
    return result;
  }
  const std::vector<UChar> from = to_utf16(text);
  std::vector<UChar> to(from.size() * 3 + 1);  // no full mapping is longer
  UErrorCode status = U_ZERO_ERROR;
  const int32_t length = mapping(to.data(), static_cast<int32_t>(to.size()), from.data(),
                                 static_cast<int32_t>(from.size()), &status);
  if (U_FAILURE(status)) throw Fault("a text cannot change its case");
  return to_utf8(to, static_cast<size_t>(length));
}

int type_of(char32_t c) { return u_charType(static_cast<UChar32>(c)); }
bool is_upper(char32_t c) { return u_isUUppercase(static_cast<UChar32>(c)); }
bool is_lower(char32_t c) { return u_isULowercase(static_cast<UChar32>(c)); }
bool is_title(char32_t c) { return type_of(c) == U_TITLECASE_LETTER; }
bool is_cased(char32_t c) { return is_upper(c) || is_lower(c) || is_title(c); }
bool is_alpha(char32_t c) { return u_isalpha(static_cast<UChar32>(c)); }
bool is_decimal(char32_t c) { return type_of(c) == U_DECIMAL_DIGIT_NUMBER; }
bool is_numeric(char32_t c) {
  return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}
bool is_digit(char32_t c) {
  const int type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}
bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }

template <bool (*test)(char32_t)>
bool every(std::string_view text) {
  for (size_t at = 0; at < text.size();)
    if (!test(decode(text, at))) return false;
  return !text.empty();
}
bool ascii_only(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}
bool all_printable(std::string_view text) { return text.empty() || every<is_printable>(text); }
bool all_lower(std::string_view text) {
  bool cased = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = decode(text, at);
    if (is_upper(c) || is_title(c)) return false;
    cased = cased || is_lower(c);
  }
  return cased;
}
bool all_upper(std::string_view text) {
  bool cased = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = decode(text, at);
    if (is_lower(c) || is_title(c)) return false;
    cased = cased || is_upper(c);
  }
  return cased;
}
bool all_title(std::string_view text) {
  bool cased = false, inside = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = decode(text, at);
    if (is_upper(c) || is_title(c)) {
      if (inside) return false;
      inside = cased = true;
    } else if (is_lower(c)) {
      if (!inside) return false;
      cased = true;
    } else {
      inside = false;
    }
  }
  return cased;
}
bool is_identifier(std::string_view text) {
  size_t at = 0;
  if (text.empty()) return false;
  const auto first = static_cast<UChar32>(decode(text, at));
  if (first != '_' && !u_hasBinaryProperty(first, UCHAR_XID_START)) return false;
  while (at < text.size())
    if (!u_hasBinaryProperty(static_cast<UChar32>(decode(text, at)), UCHAR_XID_CONTINUE)) return false;
  return true;
}

// Python titlecases a character by its own mapping; ICU's word rules do not apply.
void append_title(std::string& out, char32_t c) {
  std::string one;
  append_utf8(c, one);
  const std::string raised = upper(one);
  const auto mapped = static_cast<char32_t>(u_totitle(static_cast<UChar32>(c)));
  if (mapped != c || characters(raised) == 1) {
    append_utf8(mapped, out);
    return;
  }
  size_t at = 0;  // "ss" of a sharp s: only the first letter stays large
  append_utf8(decode(raised, at), out);
  out += lower(std::string_view(raised).substr(at));
}

}  // namespace

std::string upper(std::string_view text) {
  return map_case(
      text,
      [](UChar* to, int32_t size, const UChar* from, int32_t length, UErrorCode* status) {
        return u_strToUpper(to, size, from, length, "", status);
      },
      'a', 'z', -32);
}

std::string lower(std::string_view text) {
  return map_case(
      text,
      [](UChar* to, int32_t size, const UChar* from, int32_t length, UErrorCode* status) {
        return u_strToLower(to, size, from, length, "", status);
      },
      'A', 'Z', 32);
}

std::string casefold(std::string_view text) {
  return map_case(
      text,
      [](UChar* to, int32_t size, const UChar* from, int32_t length, UErrorCode* status) {
        return u_strFoldCase(to, size, from, length, U_FOLD_CASE_DEFAULT, status);
      },
      'A', 'Z', 32);
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  std::string result;
  size_t at = 0;
  append_title(result, decode(text, at));
  return result + lower(text.substr(at));
}

std::string title(std::string_view text) {
  std::string result;
  bool inside = false;
  size_t word = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const char32_t c = decode(text, at);
    if (is_cased(c)) {
      if (!inside) {
        append_title(result, c);
        word = at;
      }
      inside = true;
      if (at == text.size()) result += lower(text.substr(word, at - word));
      continue;
    }
    if (inside) result += lower(text.substr(word, from - word));
    inside = false;
    result += text.substr(from, at - from);
  }
  return result;
}

std::string swapcase(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const char32_t c = decode(text, at);
    const std::string_view one = text.substr(from, at - from);
    result += is_upper(c) ? lower(one) : is_lower(c) ? upper(one) : std::string(one);
  }
  return result;
}

CharacterTest character_test(std::string_view method) {
  static constexpr struct {
    std::string_view name;
    CharacterTest test;
  } tests[] = {
      {"isalnum", every<is_alnum>},     {"isalpha", every<is_alpha>},     {"isascii", ascii_only},
      {"isdecimal", every<is_decimal>}, {"isdigit", every<is_digit>},     {"isidentifier", is_identifier},
      {"islower", all_lower},           {"isnumeric", every<is_numeric>}, {"isprintable", all_printable},
      {"isspace", every<is_space>},     {"istitle", all_title},           {"isupper", all_upper}};
  const auto found =
      std::find_if(std::begin(tests), std::end(tests), [&](const auto& t) { return t.name == method; });
  return found == std::end(tests) ? nullptr : found->test;
}

}  // namespace lockstep::engine::language
