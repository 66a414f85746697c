// A request of Anthropic's Messages API, read into what the engine understands.
#pragma once

#include "daemon/json/value.h"
#include "daemon/openai/fields.h"

namespace lockstep::daemon::anthropic {

// Throws ApiError (400) with the param. Thoughts are off unless the request asks for them.
openai::Request read_messages_request(const json::Value& body, const engine::Sampling& defaults);
// The same without what only a reply needs.
openai::Request read_count_request(const json::Value& body, const engine::Sampling& defaults);

// Beside openai::common_fields().
openai::Fields messages_fields();

}  // namespace lockstep::daemon::anthropic
