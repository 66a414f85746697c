#include "ipc/client/text.h"

#include <algorithm>
#include <cstdio>

#include "ipc/ipc.h"

namespace lockstep::ipc::client {

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  const auto part = [](long long value, const char* unit) { return std::to_string(value) + " " + unit; };
  if (whole < 60) return part(whole, "s");
  if (whole < 3600) return part(whole / 60, "min ") + part(whole % 60, "s");
  if (whole < 86400) return part(whole / 3600, "h ") + part(whole / 60 % 60, "min");
  return part(whole / 86400, "d ") + part(whole / 3600 % 24, "h");
}

std::string count(uint64_t value, const char* what) { return std::to_string(value) + " " + what; }

std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t width = columns[i].title.size();
    for (const auto& row : rows) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](auto cell_of) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string blanks(widths[i] - cell.size(), ' ');
      text += i > 0 ? "  " : "";
      text += columns[i].number ? blanks + cell : i + 1 < columns.size() ? cell + blanks : cell;
    }
    text += "\n";
  };
  line([&](size_t i) -> const std::string& { return columns[i].title; });
  for (const auto& row : rows) line([&](size_t i) -> const std::string& { return row[i]; });
  return text;
}

namespace {

// The first character of UTF-8 text.
char32_t code_point(std::string_view text) {
  const size_t length = utf8_length(text);
  if (length <= 1) return static_cast<unsigned char>(text[0]);
  char32_t code = static_cast<unsigned char>(text[0]) & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return code;
}

}  // namespace

// As terminals do without asking a locale: East Asian wide characters and pictures have two, what joins the
// character before has none (UAX #11 and general category Mn, in ranges).
int columns_of(char32_t c) {
  const auto in = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (in(0x300, 0x36F) || in(0x200B, 0x200F) || in(0x20D0, 0x20FF) || in(0xFE00, 0xFE0F)) return 0;
  if (in(0x1100, 0x115F) || in(0x2E80, 0xA4CF) || in(0xAC00, 0xD7A3) || in(0xF900, 0xFAFF) ||
      in(0xFE30, 0xFE6F) || in(0xFF00, 0xFF60) || in(0x1F300, 0x1FAFF) || in(0x20000, 0x3FFFD))
    return 2;
  return 1;
}

std::string WordWrap::add(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(utf8_length(text), 1);
    const std::string_view character = text.substr(0, length);
    text.remove_prefix(length);
    if (character == "\n") {
      out += character;
      *this = WordWrap(width_);
      continue;
    }
    const bool blank = character == " " || character == "\t";
    const int columns = columns_of(code_point(character));
    if (column_ + columns > width_) {
      if (blank) continue;
      const bool moves = word_columns_ > 0 && word_columns_ < width_ / 2;  // longer ones break anywhere
      if (moves) out += "\033[" + std::to_string(word_columns_) + "D\033[K";
      out += moves ? "\n" + word_ : "\n";
      column_ = moves ? word_columns_ : 0;
    }
    out += blank ? " " : character;
    column_ += columns;
    word_ = blank ? "" : word_ + std::string(character);
    word_columns_ = blank ? 0 : word_columns_ + columns;
  }
  return out;
}

std::string cut_lines(std::string_view text, int width) {
  std::string out;
  int column = 0;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(utf8_length(text), 1);
    column = text[0] == '\n' ? 0 : column + 1;
    if (column <= width) out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

std::string tokens_text(const std::vector<int32_t>& tokens) {
  std::string text;
  for (int32_t token : tokens) text += (text.empty() ? "" : " ") + std::to_string(token);
  return text + "\n";
}

}  // namespace lockstep::ipc::client
