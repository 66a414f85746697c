// A reply's sampling parameters as they held, for its lockstep object.
#pragma once

#include "daemon/json/value.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

// The double whose shortest text is the float's: 0.7 of 0.7f.
double shortest(float value);

// temperature, top_p, top_k and min_p; others when they are not what they are by default.
json::Value parameters_json(const engine::Sampling& sampling);

}  // namespace lockstep::daemon::openai
