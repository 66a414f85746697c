// What `lockstepd inspect` prints.
#pragma once

#include <string>

#include "engine/engine.h"

namespace lockstep::daemon {

std::string inspection_text(const engine::Inspection& inspection);
std::string inspection_json(const engine::Inspection& inspection);  // one line

}  // namespace lockstep::daemon
