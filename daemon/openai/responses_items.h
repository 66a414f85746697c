// The items of a Responses request that become the conversation. Each reader throws ApiError (400) naming the
// place.
#pragma once

#include <string>
#include <vector>

#include "daemon/json/value.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

// Appends to `messages`. Reasoning, an assistant's text and calls that follow each other are one turn.
void read_items(const json::Value& value, const std::string& at, std::vector<engine::Message>& messages);

// "input" as items, with ids of their own where they have none.
json::Array normal_items(const json::Value& input, const std::string& id);

// Functions of the Responses' flat shape, as the template gets tools.
std::vector<std::string> read_flat_tools(const json::Value& value, const std::string& at, bool& strict);

}  // namespace lockstep::daemon::openai
