#include "daemon/notify.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>

namespace lockstep::daemon {

void notify_ready() { sd_notify(0, "READY=1"); }
void notify_stopping() { sd_notify(0, "STOPPING=1"); }
void notify_alive() { sd_notify(0, "WATCHDOG=1"); }

std::optional<std::chrono::microseconds> watchdog_time() {
  uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return {};
  return std::chrono::microseconds(microseconds);
}

void notify_status(const std::string& text) {
  std::string line = "STATUS=" + text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  sd_notify(0, line.c_str());
}

}  // namespace lockstep::daemon
