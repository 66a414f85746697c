// A chat completion request as OpenAI clients send it, read into what the engine understands. Past this
// header no part of the daemon looks at a request's JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/json/value.h"
#include "daemon/openai/error.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

struct ChatRequest {
  std::string model;  // as asked for; empty: not said
  engine::Conversation conversation;
  std::optional<std::string> text;  // continued as it is, instead of the conversation
  engine::Sampling sampling;
  bool stream = false;
  bool include_usage = false;
};

// Known fields are strictly typed, null counts as absent, unknown fields are ignored, known fields whose
// effect is not implemented are refused unless they ask for nothing. Throws ApiError (400) with the param.
// `defaults` are the values of sampling fields that the request does not give.
ChatRequest read_chat_request(const json::Value& body, const engine::Sampling& defaults);

// As above, from the body's text.
ChatRequest parse_chat_request(std::string_view body, const engine::Sampling& defaults);

// The field table, for the manual and its test.
struct FieldHelp {
  std::string_view name, help;
};
std::span<const FieldHelp> chat_fields();

}  // namespace lockstep::daemon::openai
