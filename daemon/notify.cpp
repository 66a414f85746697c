#include "daemon/notify.h"

#include <systemd/sd-daemon.h>

#include <algorithm>

namespace lockstep::daemon {

void notify_ready() { sd_notify(0, "READY=1"); }
void notify_stopping() { sd_notify(0, "STOPPING=1"); }
void notify_alive() { sd_notify(0, "WATCHDOG=1"); }

void notify_status(const std::string& text) {
  std::string line = "STATUS=" + text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  sd_notify(0, line.c_str());
}

}  // namespace lockstep::daemon
