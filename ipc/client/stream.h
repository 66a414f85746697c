// Requests whose replies are shown as they come.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/client/terminal.h"
#include "ipc/connection.h"

namespace lockstep::ipc::client {

// What has been shown. Without `final` the user interrupted the reply.
struct Shown {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  std::optional<Final> final;
};

// Calls `method` on a new connection and shows the reply. Throws Failure.
Shown show_reply(const std::string& socket, std::string_view method, std::string_view parameters,
                 Display& display);

// Calls `method` and waits for its one reply: the parameters. Throws Failure.
std::string whole_reply(const std::string& socket, std::string_view method, std::string_view parameters);

// Waits for the daemon, and for the end of whoever reads the answer. False: the user interrupted.
bool wait_for(Connection& connection);

}  // namespace lockstep::ipc::client
