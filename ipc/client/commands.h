// The commands of the program. Each returns an Exit.
#pragma once

#include <span>

#include "ipc/client/command_line.h"

namespace lockstep::ipc::client {

int ask(const Arguments&);
int status(const Arguments&);
int models(const Arguments&);

std::span<const Command> commands();

}  // namespace lockstep::ipc::client
