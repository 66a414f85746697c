// What an operator has to act on. Each kind has an id in the journal, and under it a paragraph in the catalog
// (packaging/systemd/lockstep.catalog) that "journalctl -x" shows.
#pragma once

#include <span>
#include <string_view>

#include "daemon/exit_status.h"
#include "daemon/log.h"

namespace lockstep::daemon {

enum class Event { configuration, model, device, memory, address, engine_lost, api_keys, snapshots };

struct EventEntry {
  Event event;
  std::string_view id;     // 128 bits, as sd-id128(3) writes them
  std::string_view title;  // of its paragraph
};
std::span<const EventEntry> events();

// Why a start failed.
Event event_of(ExitStatus status);

// To the journal with its id; elsewhere as log() does. Any thread.
void log_event(Event event, std::string_view text, LogLevel level = LogLevel::error);

}  // namespace lockstep::daemon
