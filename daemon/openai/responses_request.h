// A request of OpenAI's Responses API.
#pragma once

#include <string>

#include "daemon/json/value.h"
#include "daemon/openai/fields.h"
#include "daemon/openai/responses_store.h"

namespace lockstep::daemon::openai {

// What the reply repeats of its request, and what the next one may go on from.
struct ResponseContext {
  json::Array input;  // items
  json::Object echo;  // instructions, tools, …: as they stand in the response
  bool store = true;
  std::size_t instructions = 0;  // messages at the conversation's start that the next request does not get
};

// Throws ApiError: 400 with the param, 404 if previous_response_id is not kept here (any more).
Request read_responses_request(const json::Value& body, const engine::Sampling& defaults,
                               ResponsesStore& store);

// Beside common_fields().
Fields responses_fields();

}  // namespace lockstep::daemon::openai
