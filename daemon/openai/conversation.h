// The parts of a request that become the conversation. Each throws ApiError (400) naming the place, such as
// "messages[2].content[0].type".
#pragma once

#include <string>
#include <vector>

#include "daemon/json/value.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

std::vector<engine::Message> read_messages(const json::Value& value);

// The arguments of an earlier call as JSON text of an object: given as that text, as an object, or as
// nothing.
std::string read_arguments(const json::Value& value, const std::string& at);

// JSON text of each tool, keys in their order and numbers with their digits. `strict`: whether one of them
// asks that its arguments be held to its schema.
std::vector<std::string> read_tools(const json::Value& value, bool& strict);

// chat_template_kwargs: enable_thinking sets `thinking`, the rest becomes `template_arguments`.
void read_template_arguments(const json::Value& value, engine::Conversation& conversation);

}  // namespace lockstep::daemon::openai
