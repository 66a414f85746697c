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

// Calls `method` and prints the `final` of its one reply as a line of JSON. Throws Failure.
void print_reply(const std::string& socket, std::string_view method, std::string_view parameters);

}  // namespace lockstep::ipc::client
