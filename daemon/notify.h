// What the service manager is told (sd_notify(3)). Without one these do nothing. Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace lockstep::daemon {

void notify_ready();
void notify_stopping();
void notify_status(const std::string& text);
void notify_alive();  // feeds the watchdog
// The watchdog's time, if there is one.
std::optional<std::chrono::microseconds> watchdog_time();

}  // namespace lockstep::daemon
