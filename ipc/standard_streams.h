// What both programs do first.
#pragma once

namespace lockstep::ipc {

// A standard stream that is not open would be the next file or socket that is, and get what is printed.
// Such streams are held by /dev/null instead, for reading only: what is printed there fails.
void hold_standard_streams();

}  // namespace lockstep::ipc
