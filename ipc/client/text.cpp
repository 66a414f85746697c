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

}  // namespace lockstep::ipc::client
