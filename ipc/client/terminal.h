// Standard output and standard error, written without buffers, as terminals or as pipes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ipc/client/text.h"

namespace lockstep::ipc::client {

// Writes all of it to standard output. A reader that has gone ends the program quietly, as SIGPIPE does; any
// other failure throws std::runtime_error.
void write_answer(std::string_view text);

// Writes to standard error, as far as that can be done.
void tell(std::string_view text);
// "lockstep COMMAND: TEXT" as a line of its own there, control characters replaced; on a terminal broken at
// blanks.
void complain(std::string_view text, const std::string& command = "");

// Text for people, to be written to standard output: if that is a terminal, harmless and broken at blanks.
std::string readable(std::string text);

// Text of a model as a terminal may see it: control characters, which could move the cursor or worse,
// become U+FFFD; newline and tab stay.
std::string harmless(std::string_view text);

// Whether standard output is a terminal that knows escape sequences, and may be coloured (NO_COLOR).
bool is_screen();
bool is_coloured();

// Columns of standard output's terminal, else standard error's, 80 when nobody knows; and its lines, else 24.
struct ScreenSize {
  int columns, lines;
};
ScreenSize screen_size();

// What a question looks like while it is answered: the answer on standard output; progress, thoughts and
// notices on standard error.
class Display {
 public:
  // What Ctrl-C does while this lives (unless the program was started with SIGINT ignored): leave the
  // terminal tidy and end the program by SIGINT, or only be noticed by interrupted(). One at a time.
  enum class OnInterrupt { end_program, notice };
  explicit Display(OnInterrupt on_interrupt = OnInterrupt::end_program);
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  void progress(int read, int total);        // on a terminal only
  void working(const std::string& on_what);  // the same
  void thought(std::string_view text);
  void answer(std::string_view text);
  void end_line();                   // of the answer, unless it ended itself
  void line(std::string_view text);  // on standard output, as it is
  void notice(const std::string& text);

  // Ends the program when standard output's reader has gone.
  static void end_if_unread();

 private:
  void set_wraps();
  void end_progress();
  void end_thoughts();

  bool terminal_out_, terminal_error_, styled_;
  std::optional<WordWrap> answer_wrap_, thought_wrap_;  // for terminals
  bool progress_shown_ = false, thinking_ = false;
  char last_thought_ = '\n', last_answer_ = '\n';
};

// What has happened to the terminal since this was asked last: it has another size; or the program goes on
// after Ctrl-Z, and the cursor is anywhere. Either wakes what waits, once notice_disturbances() has been
// called.
enum class Disturbance { none, resized, continued };
void notice_disturbances();
Disturbance disturbance();

// Whether Ctrl-C has been noticed since a Display was made or the last one was forgotten.
bool interrupted();
void forget_interrupt();

}  // namespace lockstep::ipc::client
