#include "daemon/events.h"

#include <systemd/sd-journal.h>

#include <algorithm>
#include <array>
#include <string>

#include "daemon/limits.h"
#include "daemon/printable.h"

namespace lockstep::daemon {
namespace {

constexpr std::array entries{
    EventEntry{Event::configuration, "170fa93f9a7244c2838c01a649d7a2d8",
               "The configuration of Lockstep has a mistake"},
    EventEntry{Event::model, "f520dcb3a038459ebf4a60ffbaa444c9", "The model of Lockstep cannot be served"},
    EventEntry{Event::device, "6b3267338c374d39ab8ab31e71f7c3ed",
               "The device that Lockstep computes on is not usable"},
    EventEntry{Event::memory, "a86d99199b5f46be8f16c95aabb4cf75",
               "The model of Lockstep does not fit into memory"},
    EventEntry{Event::address, "021bbe20e1734c97871247b2b0a766e6",
               "Lockstep cannot listen on an address or socket"},
    EventEntry{Event::engine_lost, "3b44ce1868da472ca020687d6f9bf5c1",
               "Lockstep lost its device, or is stuck"},
    EventEntry{Event::api_keys, "2e087e84710248c58ace16567d0a873b",
               "The API keys of Lockstep cannot be read"},
    EventEntry{Event::snapshots, "edd35c49e13f453f9123bc988169eea6",
               "Lockstep does not keep all conversations"},
};

}  // namespace

std::span<const EventEntry> events() { return entries; }

Event event_of(ExitStatus status) {
  switch (status) {
    case ExitStatus::model: return Event::model;
    case ExitStatus::device: return Event::device;
    case ExitStatus::memory: return Event::memory;
    case ExitStatus::address: return Event::address;
    case ExitStatus::success:
    case ExitStatus::failure: return Event::engine_lost;
    case ExitStatus::usage:
    case ExitStatus::configuration: return Event::configuration;
  }
  return Event::engine_lost;
}

void log_event(Event event, std::string_view text, LogLevel level) {
  if (goes_to_journal()) {
    // Priorities are those of syslog(3).
    const std::string id(std::ranges::find(entries, event, &EventEntry::event)->id);
    const std::string line = printable(text, limits::log_line_bytes);
    if (sd_journal_send("MESSAGE_ID=%s", id.c_str(), "PRIORITY=%i", level == LogLevel::error ? 3 : 4,
                        "SYSLOG_IDENTIFIER=lockstepd", "MESSAGE=%s", line.c_str(), nullptr) == 0)
      return;
  }
  log(level, text);
}

}  // namespace lockstep::daemon
