// The commands of the program. Each returns an Exit.
#pragma once

#include <span>

#include "ipc/client/command_line.h"
#include "ipc/ipc.h"

namespace lockstep::ipc::client {

int ask(const Arguments&);
int chat(const Arguments&);
int complete(const Arguments&);
int tokenize(const Arguments&);
int verify(const Arguments&);
int check(const Arguments&);
int snapshots(const Arguments&);
int status(const Arguments&);
int models(const Arguments&);
int inspect(const Arguments&);
int self_test(const Arguments&);
int bench(const Arguments&);
int cancel(const Arguments&);
int completion(const Arguments&);

// The sampling options that several commands have.
Sampling sampling_of(const Arguments&);

// The part of snapshots that lockstepd does.
int files_of_snapshots(const Arguments&);

std::span<const Command> commands();

}  // namespace lockstep::ipc::client
