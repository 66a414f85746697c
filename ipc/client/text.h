// Numbers as people read them, tables, and text in lines of a terminal's width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::ipc::client {

std::string bytes_text(uint64_t bytes);               // "30 MiB"
std::string duration_text(double seconds);            // "1 h 2 min"
std::string count(uint64_t value, const char* what);  // "3 lanes"

// Cells in columns two blanks apart. Columns of numbers stand at their right.
struct Column {
  std::string title;
  bool number = false;
};
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

// Breaks lines of a stream of UTF-8 text at blanks, so that none has more than `width` columns of the
// terminal that it is shown on. A word that turns out not to fit is taken back (by escape sequences) and
// written again.
class WordWrap {
 public:
  explicit WordWrap(int width) : width_(width) {}
  std::string add(std::string_view text);
  // The terminal has another width, and has put what it shows into lines of that.
  void resize(int width);
  int width() const { return width_; }

 private:
  int width_;
  int column_ = 0;
  std::string word_;  // at the end of what has been written
  int word_columns_ = 0;
};

// Ids with blanks between, as a line.
std::string tokens_text(const std::vector<int32_t>& tokens);

// Columns that a terminal gives a character, and UTF-8 text.
int columns_of(char32_t character);
int columns_of(std::string_view text);

// At most `width` columns of each line (of UTF-8 text).
std::string cut_lines(std::string_view text, int width);

// Lines of more than `width` columns are broken at blanks; what follows begins below its line's first word,
// and `indent` further right. Longer words stay whole.
std::string filled(std::string_view text, int width, int indent = 0);

}  // namespace lockstep::ipc::client
