#include "engine/files/refuse.h"

#include <algorithm>

namespace lockstep::engine {

std::string quoted(std::string_view name) {
  constexpr size_t most = 160;
  constexpr char hex[] = "0123456789abcdef";
  std::string text = "\"";
  for (unsigned char c : name.substr(0, most)) {
    if (c < 0x20 || c > 0x7e)
      (text += "\\x") += {hex[c >> 4], hex[c & 15]};
    else
      text += static_cast<char>(c);
  }
  if (name.size() > most) text += "...";
  return text += '"';
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t most = 8;
  const size_t shown = std::min(names.size(), most);
  std::string text;
  for (size_t i = 0; i < shown; i++) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += quoted(std::string_view(names[i]));
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace lockstep::engine
