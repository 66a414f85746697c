// Lines from the user: edited and remembered on a terminal (libedit), else as they come.
#pragma once

#include <memory>
#include <string>

namespace lockstep::ipc::client {

class LineEditor {
 public:
  // Remembered lines are kept in `history`, which only its owner may read; empty: nowhere. It is made, with
  // its folder, when the first line is remembered.
  explicit LineEditor(std::string history);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class End { line, interrupted, over };
  struct Line {
    End end;
    std::string text;  // without its newline; a paste may have brought others
  };
  // Interrupts must be noticed (terminal.h).
  Line read(const char* prompt);
  void remember(const std::string& line);

 private:
  struct Editor;
  Line read_plain(const char* prompt);

  const std::string history_;
  std::unique_ptr<Editor> editor_;  // on a terminal that knows escape sequences
  std::string held_;                // of standard input, read and not yet given
};

// $XDG_STATE_HOME/lockstep/history, or below ~/.local/state; empty when there is no home.
std::string history_path();

}  // namespace lockstep::ipc::client
