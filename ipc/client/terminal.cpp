#include "ipc/client/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "ipc/utf8.h"

namespace lockstep::ipc::client {

namespace {

constexpr std::string_view erase_line = "\r\033[K", dim = "\033[2m", plain = "\033[0m";

// What the interrupt handler has to undo on standard error before the program ends.
enum Untidy : std::sig_atomic_t { tidy, progress_line, dimmed, open_line };
volatile std::sig_atomic_t untidy = tidy, noticed = 0, resized = 0, continued = 0;

void notice_interrupt(int) { noticed = 1; }
void notice_size(int) { resized = 1; }
void notice_continuation(int) { continued = 1; }

void end_by_interrupt(int) {
  const std::string_view repair = untidy == progress_line ? erase_line
                                  : untidy == dimmed      ? std::string_view("\033[0m\n")
                                  : untidy == open_line   ? std::string_view("\n")
                                                          : std::string_view();
  if (!repair.empty() && ::write(STDERR_FILENO, repair.data(), repair.size()) < 0) ::_exit(128 + SIGINT);
  // Ended by the signal itself, so that a shell's loop around this program ends too. The socket closes with
  // the process; that is what cancels the request.
  ::signal(SIGINT, SIG_DFL);
  ::raise(SIGINT);
}

[[noreturn]] void end_by_closed_pipe() {
  ::signal(SIGPIPE, SIG_DFL);
  ::raise(SIGPIPE);
  ::_exit(128 + SIGPIPE);
}

bool knows_escapes() {
  const char* term = std::getenv("TERM");
  return term && *term && std::strcmp(term, "dumb") != 0;
}

void fit(WordWrap& wrap) {
  const int width = screen_size().columns - 1;
  if (width != wrap.width()) wrap.resize(width);
}

bool allows_colour() {
  const char* no_color = std::getenv("NO_COLOR");
  return !(no_color && *no_color);
}

}  // namespace

void write_answer(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && errno == EPIPE) {
      end_by_closed_pipe();
    } else if (written < 0 && errno == EAGAIN) {
      pollfd writable{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      throw std::runtime_error(std::string("the answer cannot be written: ") + std::strerror(errno));
    }
  }
}

void tell(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

void complain(std::string_view text, const std::string& command) {
  const std::string line = "lockstep" + (command.empty() ? "" : " " + command) + ": " + harmless(text) + "\n";
  tell(::isatty(STDERR_FILENO) == 1 ? filled(line, screen_size().columns - 1) : line);
}

std::string readable(std::string text) {
  return ::isatty(STDOUT_FILENO) == 1 ? filled(harmless(text), screen_size().columns - 1) : text;
}

std::string harmless(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool c0 = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
    const bool c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || c0 || c1)
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

bool is_screen() { return ::isatty(STDOUT_FILENO) == 1 && knows_escapes(); }

bool is_coloured() { return is_screen() && allows_colour(); }

ScreenSize screen_size() {
  winsize size{};
  const bool known =
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 || ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  return {known && size.ws_col ? size.ws_col : 80, known && size.ws_row ? size.ws_row : 24};
}

Display::Display(OnInterrupt on_interrupt) {
  terminal_out_ = ::isatty(STDOUT_FILENO) == 1;
  terminal_error_ = ::isatty(STDERR_FILENO) == 1 && knows_escapes();
  set_wraps();
  styled_ = terminal_error_ && allows_colour();
  untidy = tidy;
  noticed = 0;
  struct sigaction action {};
  ::sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == SIG_IGN) return;
  // Without SA_RESTART: what waits is woken.
  action = {};
  action.sa_handler = on_interrupt == OnInterrupt::notice ? notice_interrupt : end_by_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

void notice_disturbances() {
  struct sigaction action {};
  action.sa_handler = notice_size;
  ::sigaction(SIGWINCH, &action, nullptr);
  action.sa_handler = notice_continuation;
  ::sigaction(SIGCONT, &action, nullptr);
}

Disturbance disturbance() {
  const Disturbance what = continued ? Disturbance::continued
                           : resized ? Disturbance::resized
                                     : Disturbance::none;
  continued = 0;
  resized = 0;
  return what;
}

bool interrupted() { return noticed != 0; }

void forget_interrupt() { noticed = 0; }

// For text that begins in column 0. The last column stays empty: terminals differ about what follows it.
void Display::set_wraps() {
  if (is_screen()) answer_wrap_.emplace(screen_size().columns - 1);
  if (terminal_error_) thought_wrap_.emplace(screen_size().columns - 1);
}

Display::~Display() {
  end_progress();
  end_thoughts();
  untidy = tidy;
}

void Display::progress(int read, int total) {
  const int percent = total > 0 ? static_cast<int>(100.0 * read / total) : 0;
  working("reading: " + std::to_string(read) + " of " + std::to_string(total) + " tokens (" +
          std::to_string(percent) + "%)");
}

void Display::working(const std::string& on_what) {
  if (!terminal_error_ || thinking_ || last_answer_ != '\n') return;
  untidy = progress_line;
  progress_shown_ = true;
  tell(std::string(erase_line) + on_what);
}

void Display::end_progress() {
  if (!progress_shown_) return;
  tell(erase_line);
  progress_shown_ = false;
  untidy = tidy;
}

void Display::thought(std::string_view text) {
  end_progress();
  if (!thinking_ && styled_) {
    untidy = dimmed;
    tell(dim);
  }
  thinking_ = true;
  if (thought_wrap_) fit(*thought_wrap_);
  tell(thought_wrap_ ? thought_wrap_->add(harmless(text)) : std::string(text));
  last_thought_ = text.empty() ? last_thought_ : text.back();
}

void Display::end_thoughts() {
  if (!thinking_) return;
  thinking_ = false;
  set_wraps();
  if (styled_) tell(plain);
  untidy = tidy;
  if (last_thought_ != '\n') tell("\n");
  if (terminal_error_ && terminal_out_) tell("\n");
}

void Display::answer(std::string_view text) {
  if (text.empty()) return;
  end_progress();
  end_thoughts();
  if (terminal_out_ && terminal_error_) untidy = open_line;
  if (answer_wrap_) fit(*answer_wrap_);
  write_answer(answer_wrap_    ? answer_wrap_->add(harmless(text))
               : terminal_out_ ? harmless(text)
                               : std::string(text));
  last_answer_ = text.back();
}

void Display::end_line() {
  set_wraps();
  if (last_answer_ != '\n') write_answer("\n");
  last_answer_ = '\n';
  untidy = tidy;
}

void Display::line(std::string_view text) {
  end_progress();
  end_thoughts();
  write_answer(terminal_out_ ? harmless(text) : std::string(text));
}

void Display::notice(const std::string& text) {
  end_progress();
  end_thoughts();
  complain(text);
}

void Display::end_if_unread() {
  pollfd output{STDOUT_FILENO, 0, 0};
  if (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR)) end_by_closed_pipe();
}

}  // namespace lockstep::ipc::client
