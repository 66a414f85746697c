// What the body of any endpoint that makes replies comes to. Past its readers no part of the daemon looks at
// a request's JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/engine.h"

namespace lockstep::daemon::openai {

// Text that is continued as it is, or its token ids.
using TextPrompt = std::variant<std::string, std::vector<int32_t>>;

struct ResponseContext;  // responses_request.h

struct Request {
  std::string model;  // as asked for; empty: not said
  engine::Conversation conversation;
  std::vector<TextPrompt> texts;      // not empty: these are continued, instead of the conversation
  std::vector<int32_t> known_prompt;  // not empty: the tokens of the conversation's prompt, of a receipt
  bool parse_special = false;         // texts: special tokens' names in them are those tokens
  engine::Sampling sampling;
  int n = 1;          // replies to each prompt
  bool echo = false;  // the reply begins with the prompt's text
  bool stream = false;
  bool include_usage = false;
  bool receipt = false;                             // of the local protocol
  std::shared_ptr<const ResponseContext> response;  // of the Responses API

  int choices() const { return n * static_cast<int>(texts.empty() ? 1 : texts.size()); }
};

}  // namespace lockstep::daemon::openai
