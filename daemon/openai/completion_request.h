// A completion request: text or token ids that the reply goes on from, as they are.
#pragma once

#include "daemon/json/value.h"
#include "daemon/openai/fields.h"

namespace lockstep::daemon::openai {

// Throws ApiError (400) with the param.
Request read_completion_request(const json::Value& body, const engine::Sampling& defaults);

// Beside common_fields() and text_fields().
Fields completion_fields();

}  // namespace lockstep::daemon::openai
