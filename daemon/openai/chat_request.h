// A chat completion request as OpenAI clients send it.
#pragma once

#include "daemon/json/value.h"
#include "daemon/openai/fields.h"

namespace lockstep::daemon::openai {

// Throws ApiError (400) with the param.
Request read_chat_request(const json::Value& body, const engine::Sampling& defaults);

// Beside common_fields() and text_fields().
Fields chat_fields();

}  // namespace lockstep::daemon::openai
