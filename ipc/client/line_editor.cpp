#include "ipc/client/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <deque>
#include <filesystem>
#include <fstream>

#include "ipc/client/terminal.h"
#include "ipc/utf8.h"

namespace lockstep::ipc::client {

namespace {

constexpr size_t most_lines = 1000;  // remembered

// Whether the terminal is to put what is pasted into brackets.
constexpr std::string_view brackets_on = "\033[?2004h", brackets_off = "\033[?2004l";

// Signals that reading must notice, let through only while it waits: none comes between a look and a wait.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGWINCH, SIGCONT}) sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  bool has_input() const {  // waits for it; false: a signal came
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::ppoll(&input, 1, nullptr, &before_) > 0;
  }

 private:
  sigset_t before_;
};

// The rows of the screen between the prompt and the cursor, as terminals break what they show anew.
int rows_to_prompt(EditLine* editor, std::string_view prompt, int width) {
  const LineInfoW* line = ::el_wline(editor);
  int rows = 0, column = columns_of(prompt);
  for (const wchar_t* at = line->buffer; at < line->cursor; ++at) {
    const bool control = *at < L' ' || *at == 0x7F;
    const int columns = *at == L'\t' ? 8 - column % 8 : control ? 2 : columns_of(static_cast<char32_t>(*at));
    if (*at == L'\n' || column + columns > width) {
      ++rows;
      column = 0;
    }
    if (*at != L'\n') column += columns;
  }
  return rows + (column == width);
}

// Lines in the history file: a message may have several.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return out;
}
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool pair = text[i] == '\\' && i + 1 < text.size();
    out += !pair ? text[i] : text[++i] == 'n' ? '\n' : text[i];
  }
  return out;
}

// The newest lines of a history file.
std::deque<std::string> remembered(const std::string& path) {
  std::deque<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && is_utf8(line)) lines.push_back(unescaped(line));
    if (lines.size() > most_lines) lines.pop_front();
  }
  return lines;
}

}  // namespace

struct LineEditor::Editor {
  History* history = ::history_init();
  EditLine* editor = ::el_init("lockstep", stdin, stdout, stderr);
  const char* prompt = "";

  explicit Editor(const std::string& path) {
    HistEvent event;
    ::history(history, &event, H_SETSIZE, static_cast<int>(most_lines));
    ::history(history, &event, H_SETUNIQUE, 1);
    for (const std::string& line : remembered(path)) ::history(history, &event, H_ENTER, line.c_str());
    ::el_set(editor, EL_CLIENTDATA, this);
    ::el_set(editor, EL_PROMPT, prompt_of);
    ::el_set(editor, EL_EDITOR, "emacs");
    ::el_set(editor, EL_HIST, ::history, history);
    ::el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    ::el_set(editor, EL_GETCFN, read_character);
    ::el_source(editor, nullptr);
    ::el_set(editor, EL_ADDFN, "paste", "Insert what is pasted", paste);
    ::el_set(editor, EL_BIND, "\033[200~", "paste", nullptr);
    notice_disturbances();
  }
  ~Editor() {
    ::el_end(editor);
    ::history_end(history);
  }
  static char* prompt_of(EditLine* editor) {
    Editor* self = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &self);
    return const_cast<char*>(self->prompt);
  }
  static int read_character(EditLine* editor, wchar_t* character);
  static unsigned char paste(EditLine* editor, wint_t);
  static void redraw(EditLine* editor, Disturbance what);
};

// What libedit reads by. -1 ends its line.
int LineEditor::Editor::read_character(EditLine* editor, wchar_t* character) {
  const HeldSignals held;
  std::mbstate_t state{};
  while (true) {
    if (interrupted()) return -1;
    if (const Disturbance what = disturbance(); what != Disturbance::none) redraw(editor, what);
    if (!held.has_input()) continue;
    char byte;
    const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
    if (got <= 0) return static_cast<int>(got);
    const size_t length = std::mbrtowc(character, &byte, 1, &state);
    if (length == static_cast<size_t>(-1)) state = {};
    if (length <= 1) return 1;
  }
}

// A paste that the terminal has put into brackets becomes a part of the line, with its own line ends.
unsigned char LineEditor::Editor::paste(EditLine* editor, wint_t) {
  constexpr std::wstring_view end = L"\033[201~";
  std::wstring text;
  while (!std::wstring_view(text).ends_with(end)) {
    wchar_t character;
    if (::el_wgetc(editor, &character) != 1) return CC_EOF;
    text += character == L'\r' ? L'\n' : character;
  }
  text.resize(text.size() - end.size());
  if (!text.empty() && text.back() == L'\n') text.pop_back();
  ::el_winsertstr(editor, text.c_str());
  return CC_REFRESH;
}

// Anew from the prompt on, as the terminal is now.
void LineEditor::Editor::redraw(EditLine* editor, Disturbance what) {
  if (what == Disturbance::resized) {
    const ScreenSize size = screen_size();
    const int rows = std::min(rows_to_prompt(editor, prompt_of(editor), size.columns), size.lines - 1);
    write_answer((rows > 0 ? "\033[" + std::to_string(rows) + "A" : "") + "\r\033[J");
  } else {
    ::el_set(editor, EL_PREP_TERM, 0);  // what it believes to be set already, it does not set
    ::el_set(editor, EL_PREP_TERM, 1);
    write_answer(brackets_on);
  }
  ::el_resize(editor);
  ::el_set(editor, EL_REFRESH);
}

LineEditor::LineEditor(std::string history) : history_(std::move(history)) {
  if (::isatty(STDIN_FILENO) != 1 || !is_screen()) return;
  // libedit reads characters as the locale has them; the protocol's text is UTF-8, whatever the locale.
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  editor_ = std::make_unique<Editor>(history_);
}

LineEditor::~LineEditor() = default;

LineEditor::Line LineEditor::read(const char* prompt) {
  if (!editor_) return read_plain(prompt);
  editor_->prompt = prompt;
  int length = 0;
  ::el_set(editor_->editor, EL_PREP_TERM,
           1);  // before the prompt: keys that answer it must not be edited by the tty
  write_answer(brackets_on);
  const char* text = ::el_gets(editor_->editor, &length);
  write_answer(brackets_off);
  if (!text || length <= 0) {
    write_answer("\n");
    return {interrupted() ? End::interrupted : End::over, ""};
  }
  std::string line(text, static_cast<size_t>(length));
  if (line.back() == '\n') line.pop_back();
  return {End::line, std::move(line)};
}

LineEditor::Line LineEditor::read_plain(const char* prompt) {
  const bool asked = ::isatty(STDIN_FILENO) == 1;
  if (asked) write_answer(prompt);
  while (true) {
    if (const size_t end = held_.find('\n'); end != std::string::npos) {
      Line line{End::line, held_.substr(0, end)};
      held_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    const bool stopped = got < 0 && errno == EINTR && interrupted();
    if (got < 0 && errno == EINTR && !stopped) continue;
    if (stopped || (got <= 0 && held_.empty())) {
      if (asked) write_answer("\n");
      return {stopped ? End::interrupted : End::over, ""};
    }
    held_ += got <= 0 ? "\n" : std::string(buffer, static_cast<size_t>(got));
  }
}

void LineEditor::remember(const std::string& line) {
  if (!editor_) return;
  HistEvent event;
  ::history(editor_->history, &event, H_ENTER, line.c_str());
  if (history_.empty()) return;
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(history_).parent_path();
  std::filesystem::create_directories(folder.parent_path(), failed);
  ::mkdir(folder.c_str(), 0700);
  const int file = ::open(history_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;  // a home that cannot be written is no reason not to talk
  ::fchmod(file, 0600);
  const std::string entry = escaped(line) + "\n";
  if (::write(file, entry.data(), entry.size()) < 0) failed = std::make_error_code(std::errc::io_error);
  ::close(file);
  struct stat about {};
  // Cut to the newest lines now and then: another program's lines of this moment may get lost.
  if (::stat(history_.c_str(), &about) < 0 || about.st_size < (1 << 20)) return;
  std::string newest;
  for (const std::string& kept : remembered(history_)) newest += escaped(kept) + "\n";
  std::ofstream(history_, std::ios::trunc) << newest;
}

std::string history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/') return std::string(state) + "/lockstep/history";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.local/state/lockstep/history" : "";
}

}  // namespace lockstep::ipc::client
