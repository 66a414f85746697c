// Messages, blocks and tools of Anthropic's shape. Each reader throws ApiError (400) naming the place.
#pragma once

#include <string>
#include <vector>

#include "daemon/json/value.h"
#include "engine/engine.h"

namespace lockstep::daemon::anthropic {

// A string, or an array of text blocks, which say the same as their texts joined.
std::string read_text(const json::Value& value, const std::string& at);

// Appends to `messages`. A tool_result block becomes a tool's message, in its order among the texts.
void read_messages(const json::Value& value, const std::string& at, std::vector<engine::Message>& messages);

// As the template gets tools: JSON text in OpenAI's shape.
std::vector<std::string> read_tools(const json::Value& value, const std::string& at, bool& strict);

}  // namespace lockstep::daemon::anthropic
