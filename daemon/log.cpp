#include "daemon/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "daemon/limits.h"
#include "daemon/printable.h"

namespace lockstep::daemon {
namespace {

std::atomic<LogLevel> threshold{LogLevel::info};

std::string_view prefix(LogLevel level) {
  static const bool journal = goes_to_journal();
  if (!journal) return "lockstepd: ";
  switch (level) {
    case LogLevel::error: return "<3>";
    case LogLevel::warning: return "<4>";
    case LogLevel::info: return "<6>";
    case LogLevel::debug: return "<7>";
  }
  return "<6>";
}

}  // namespace

void set_log_level(LogLevel level) { threshold = level; }

// JOURNAL_STREAM names the device and inode that standard error has when it goes to the journal.
bool goes_to_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat about {};
  if (!stream || fstat(STDERR_FILENO, &about) != 0) return false;
  return stream == std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
}

void log(LogLevel level, std::string_view text) {
  if (level > threshold.load()) return;
  std::string line(prefix(level));
  line += printable(text, limits::log_line_bytes) + '\n';
  // One write a line, so that lines of several threads do not mix. Nobody can be told if it fails.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace lockstep::daemon
