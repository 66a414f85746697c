// Where the daemon is, and what to tell the user when it cannot answer.
#pragma once

#include <functional>
#include <string>

#include "ipc/client/command_line.h"
#include "ipc/connection.h"

namespace lockstep::ipc::client {

// A command's failure: what() is for the user and says what to do next.
struct Failure : std::runtime_error {
  Exit status;
  Failure(Exit s, const std::string& text) : std::runtime_error(text), status(s) {}
};

// --socket, else $LOCKSTEP_SOCKET, else the user's own daemon's when it is there, else the system's.
std::string socket_path(const Arguments&);

// Throws Failure.
Connection connect(const std::string& path);

// One call and its one reply's parameters. Throws Failure.
std::string answer_to(const std::string& path, std::string_view method, std::string_view parameters);

// One call whose one reply is printed: as `show` makes it of the reply's parameters, or as it came with
// --json. Throws Failure.
int query(const Arguments&, std::string_view method, std::string_view parameters,
          const std::function<std::string(const std::string&)>& show);

Failure failure_of(const Error&);
Failure failure_of(const ConnectionError&, const std::string& path);

}  // namespace lockstep::ipc::client
