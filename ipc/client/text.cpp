#include "ipc/client/text.h"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cwchar>

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
  std::vector<int> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    int width = columns_of(columns[i].title);
    for (const auto& row : rows) width = std::max(width, columns_of(row[i]));
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](auto cell_of) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string blanks(static_cast<size_t>(widths[i] - columns_of(cell)), ' ');
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

// As the C library has it for UTF-8, whatever the user's locale: East Asian wide characters and pictures have
// two, what joins the character before has none.
int columns_of(char32_t c) {
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
  const locale_t before = ::uselocale(utf8);
  const int width = ::wcwidth(static_cast<wchar_t>(c));
  ::uselocale(before);
  return width < 0 ? 1 : width;
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    columns += columns_of(code_point(text));
    text.remove_prefix(std::max<size_t>(utf8_length(text), 1));
  }
  return columns;
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
    const int columns = character == "\t" ? 8 - column_ % 8 : columns_of(code_point(character));
    if (column_ + columns > width_) {
      if (blank) {  // is where the line ends
        column_ = width_;
        word_.clear();
        word_columns_ = 0;
        continue;
      }
      const bool moves = word_columns_ > 0 && word_columns_ < width_ / 2;  // longer ones break anywhere
      if (moves) out += "\033[" + std::to_string(word_columns_) + "D\033[K";
      out += moves ? "\n" + word_ : "\n";
      column_ = moves ? word_columns_ : 0;
    }
    out += blank ? std::string(static_cast<size_t>(columns), ' ') : std::string(character);
    column_ += columns;
    word_ = blank ? "" : word_ + std::string(character);
    word_columns_ = blank ? 0 : word_columns_ + columns;
  }
  return out;
}

void WordWrap::resize(int width) {
  width_ = width;
  column_ %= width + 1;
  if (word_columns_ <= column_) return;
  word_.clear();  // it began in the line above
  word_columns_ = 0;
}

std::string cut_lines(std::string_view text, int width) {
  std::string out;
  int column = 0;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(utf8_length(text), 1);
    column = text[0] == '\n' ? 0 : column + columns_of(code_point(text));
    if (column <= width) out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

namespace {

std::string filled_line(std::string_view line, int width, int indent) {
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::string begin(first + static_cast<size_t>(indent), ' ');
  std::string out;
  int column = 0;
  bool begun = false;  // a word stands in the line that is written
  while (!line.empty()) {
    const size_t word = std::min(line.find_first_not_of(' '), line.size());
    const size_t end = std::min(line.find(' ', word), line.size());
    const int columns = columns_of(line.substr(0, end));
    if (begun && column + columns > width) {
      if (word == line.size()) break;  // nothing but blanks follows
      out += "\n" + begin;
      column = static_cast<int>(begin.size());
      line.remove_prefix(word);
      begun = false;
    } else {
      out += line.substr(0, end);
      column += columns;
      line.remove_prefix(end);
      begun = true;
    }
  }
  return out;
}

}  // namespace

std::string filled(std::string_view text, int width, int indent) {
  std::string out;
  while (true) {
    const size_t end = text.find('\n');
    out += filled_line(text.substr(0, end), width, indent);
    if (end == text.npos) return out;
    out += "\n";
    text.remove_prefix(end + 1);
  }
}

std::string tokens_text(const std::vector<int32_t>& tokens) {
  std::string text;
  for (int32_t token : tokens) text += (text.empty() ? "" : " ") + std::to_string(token);
  return text + "\n";
}

}  // namespace lockstep::ipc::client
