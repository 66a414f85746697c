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

// What the reply must be. Thoughts before it are free.
struct ReplyForm {
  std::string schema;   // JSON text of a JSON Schema that the content fits; empty: none
  bool strict = false;  // refuse a schema of which something cannot be enforced
  enum class Calls {
    free,      // as the model likes
    checked,   // the same, but calls of functions with "strict": true fit their schemas
    required,  // nothing but calls, which fit their schemas
  } calls = Calls::free;
  std::vector<std::string> functions;  // required: those that may be called; empty: every one
  bool single_call = false;            // the reply ends with its first call
};

struct Conversation {
  std::vector<Message> messages;
  std::vector<std::string> tools;  // JSON text of each tool as the template gets it
  std::optional<bool> thinking;    // the template's enable_thinking
  std::string template_arguments;  // JSON text of an object with further template variables, or empty
  ReplyForm form;
};

}  // namespace lockstep::engine
