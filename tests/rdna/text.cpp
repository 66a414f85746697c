#include "tests/rdna/text.h"

#include <bit>
#include <cstdlib>

#include "tests/rdna/wave.h"

namespace lockstep::rdna {

namespace {

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

// Parts between separators that stand in no brackets.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = trimmed(part);
  std::erase(parts, "");
  return parts;
}

}  // namespace

std::vector<std::string> halves_of(const std::string& text) {
  const size_t at = text.find(" :: ");
  if (at == std::string::npos) return {text};
  return {text.substr(0, at), text.substr(at + 4)};
}

Line take_apart(std::string_view text) {
  Line line;
  const std::string whole = trimmed(text);
  const size_t end = std::min(whole.find_first_of(" \t"), whole.size());
  line.mnemonic = whole.substr(0, end);
  for (const char* encoding : {"e32", "e64", "dpp", "sdwa"}) {
    const std::string suffix = std::string("_") + encoding;
    if (!line.mnemonic.ends_with(suffix)) continue;
    line.mnemonic.resize(line.mnemonic.size() - suffix.size());
    line.encoding = encoding;
  }
  if (line.mnemonic.starts_with("v_dual_")) line.mnemonic.replace(0, 7, "v_");
  std::vector<std::string> parts = split(std::string_view(whole).substr(end), ',');
  if (parts.empty()) return line;
  const std::vector<std::string> tail = split(parts.back(), ' ');
  parts.back() = tail.front();
  for (size_t i = 1; i < tail.size(); ++i) {
    const size_t colon = tail[i].find(':');
    if (colon == std::string::npos) {
      line.modifiers.emplace_back(tail[i], "");
    } else {
      line.modifiers.emplace_back(tail[i].substr(0, colon), tail[i].substr(colon + 1));
    }
  }
  line.operands = parts;
  return line;
}

long number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (text.empty() || *end) throw Fault("'" + text + "' is no whole number");
  return value;
}

uint64_t constant_bits(const std::string& text, int bits, bool is_signed) {
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (text.find('.') != std::string::npos) {
    char* end = nullptr;
    const float value = std::strtof(text.c_str(), &end);
    if (*end || bits != 32) throw Fault("the constant '" + text + "' is not known here");
    return std::bit_cast<uint32_t>(value);
  }
  const long value = number(text);
  // A literal has 32 bits.
  if (bits == 64 && is_signed && text.starts_with("0x"))
    return static_cast<uint64_t>(static_cast<int32_t>(value));
  return static_cast<uint64_t>(value) & mask;
}

}  // namespace lockstep::rdna
