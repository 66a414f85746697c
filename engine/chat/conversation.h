// A conversation, free of any API's words.
//
// Strings are valid UTF-8. System and developer messages at the start become one system message, joined by an
// empty line; each later one becomes a user message in its place. So a template never sees instructions where
// it would refuse them, and what was rendered before stays a prefix of what is rendered after.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::engine {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text of an object; empty: no arguments
};

struct Message {
  std::string role;  // system, developer, user, assistant, tool
  std::string content;
  std::optional<std::string> reasoning;  // assistant: the thoughts that led to it
  std::vector<ToolCall> calls;           // assistant
  std::string call_id;                   // tool: the call it answers
};

struct Conversation {
  std::vector<Message> messages;
  std::vector<std::string> tools;  // JSON text of each tool as the template gets it
  std::optional<bool> thinking;    // the template's enable_thinking
  std::string template_arguments;  // JSON text of an object with further template variables, or empty
};

}  // namespace lockstep::engine
