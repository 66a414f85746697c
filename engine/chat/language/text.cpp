#include "engine/chat/language/text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lockstep::engine::language {

bool Text::any_data() const {
  return std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.data; });
}

void Text::append_slice(const Text& other, size_t from, size_t to) {
  size_t at = 0;
  for (const Run& run : other.runs) {
    if (at >= to) break;
    const size_t first = std::max(at, from), last = std::min(at + run.bytes, to);
    if (first < last) append(std::string_view(other.text).substr(first, last - first), run.data);
    at += run.bytes;
  }
}

Text Text::slice(size_t from, size_t to) const {
  Text result;
  result.safe = safe;
  result.append_slice(*this, from, to);
  return result;
}

size_t next_character(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  size_t bytes = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  if (at + bytes > text.size()) return at + 1;
  for (size_t i = 1; i < bytes; ++i)
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return at + 1;
  return at + bytes;
}

size_t previous_character(std::string_view text, size_t at) {
  for (size_t bytes = 2; bytes <= 4 && bytes <= at; ++bytes)
    if (next_character(text, at - bytes) == at) return at - bytes;
  return at - 1;
}

char32_t decode(std::string_view text, size_t& at) {
  const size_t end = next_character(text, at);
  const auto lead = static_cast<unsigned char>(text[at]);
  if (end - at == 1) {
    at = end;
    return lead < 0x80 ? lead : 0xFFFD;
  }
  char32_t character = lead & (0xFFu >> (end - at + 1));
  for (size_t i = at + 1; i < end; ++i)
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  at = end;
  return character;
}

size_t characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at = next_character(text, at)) ++count;
  return count;
}

size_t byte_offset(std::string_view text, size_t character) {
  size_t at = 0;
  while (character-- > 0 && at < text.size()) at = next_character(text, at);
  return at;
}

namespace {

constexpr size_t short_needle = 16;  // up to here the standard library's search cannot become slow

// Knuth, Morris and Pratt: `get` gives the characters of text and needle in the direction of the search.
// Returns the number of characters up to and with the match, or npos.
template <class Get>
size_t search(size_t text_size, size_t size, Get get) {
  std::vector<uint32_t> border(size, 0);
  for (size_t i = 1, k = 0; i < size; ++i) {
    while (k > 0 && get(false, i) != get(false, k)) k = border[k - 1];
    if (get(false, i) == get(false, k)) ++k;
    border[i] = static_cast<uint32_t>(k);
  }
  for (size_t i = 0, k = 0; i < text_size; ++i) {
    while (k > 0 && get(true, i) != get(false, k)) k = border[k - 1];
    if (get(true, i) == get(false, k)) ++k;
    if (k == size) return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view wanted, size_t from) {
  if (wanted.size() <= short_needle || from > text.size()) return text.find(wanted, from);
  if (wanted.size() > text.size() - from) return std::string_view::npos;
  const std::string_view part = text.substr(from);
  const size_t end = search(part.size(), wanted.size(),
                            [&](bool in_text, size_t i) { return in_text ? part[i] : wanted[i]; });
  return end == std::string_view::npos ? end : from + end - wanted.size();
}

size_t find_last_text(std::string_view text, std::string_view wanted) {
  if (wanted.size() <= short_needle) return text.rfind(wanted);
  if (wanted.size() > text.size()) return std::string_view::npos;
  const size_t end = search(text.size(), wanted.size(), [&](bool in_text, size_t i) {
    return in_text ? text[text.size() - 1 - i] : wanted[wanted.size() - 1 - i];
  });
  return end == std::string_view::npos ? end : text.size() - end;
}

std::pair<size_t, size_t> strip_range(std::string_view text, Side side) {
  size_t first = 0, last = text.size();
  if (side != Side::right)
    while (first < last) {
      size_t next = first;
      if (!is_space(decode(text, next))) break;
      first = next;
    }
  if (side != Side::left)
    while (last > first) {
      const size_t before = previous_character(text, last);
      size_t at = before;
      if (!is_space(decode(text, at))) break;
      last = before;
    }
  return {first, last};
}

std::pair<size_t, size_t> strip_range(std::string_view text, Side side, std::string_view chars) {
  size_t first = 0, last = text.size();
  const auto listed = [&](size_t from, size_t to) {
    const std::string_view character = text.substr(from, to - from);
    for (size_t at = 0; at < chars.size();) {
      const size_t next = next_character(chars, at);
      if (chars.substr(at, next - at) == character) return true;
      at = next;
    }
    return false;
  };
  if (side != Side::right)
    while (first < last) {
      const size_t next = next_character(text, first);
      if (!listed(first, next)) break;
      first = next;
    }
  if (side != Side::left)
    while (last > first) {
      const size_t before = previous_character(text, last);
      if (!listed(before, last)) break;
      last = before;
    }
  return {first, last};
}

Text escape_html(const Text& text) {
  Text result;
  size_t at = 0;
  for (const MarkedText::Run& run : text.runs) {
    const std::string_view part = std::string_view(text.text).substr(at, run.bytes);
    size_t plain = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      const char* entity = nullptr;
      switch (part[i]) {
        case '&': entity = "&amp;"; break;
        case '<': entity = "&lt;"; break;
        case '>': entity = "&gt;"; break;
        case '\'': entity = "&#39;"; break;
        case '"': entity = "&#34;"; break;
        default: break;
      }
      if (!entity) continue;
      result.append(part.substr(plain, i - plain), run.data);
      result.append(entity, run.data);
      plain = i + 1;
    }
    result.append(part.substr(plain), run.data);
    at += run.bytes;
  }
  result.safe = true;
  return result;
}

}  // namespace lockstep::engine::language
