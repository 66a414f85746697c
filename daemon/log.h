// The daemon's log: one line an event on standard error. Under a journal (JOURNAL_STREAM) lines begin with
// "<N>", their syslog priority; elsewhere with the program's name. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::daemon {

enum class LogLevel { error, warning, info, debug };

void set_log_level(LogLevel level);
// Whether standard error is the journal's, which a process that inherits JOURNAL_STREAM need not have.
bool goes_to_journal();
// Control characters in `text` are written as \xNN, so that one event stays one line.
void log(LogLevel level, std::string_view text);

inline void log_error(std::string_view text) { log(LogLevel::error, text); }
inline void log_warning(std::string_view text) { log(LogLevel::warning, text); }
inline void log_info(std::string_view text) { log(LogLevel::info, text); }
inline void log_debug(std::string_view text) { log(LogLevel::debug, text); }

}  // namespace lockstep::daemon
