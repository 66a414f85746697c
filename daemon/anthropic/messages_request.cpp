#include "daemon/anthropic/messages_request.h"

#include "daemon/anthropic/conversation.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::anthropic {
namespace {

using json::Value;
using openai::Draft;
using openai::Field;
using openai::invalid;
using openai::present;
using openai::read_bool;
using openai::read_object;
using openai::read_string;
using openai::required;

// {"type": "auto" | "any" | "tool" | "none", "name": …, "disable_parallel_tool_use": …}
void read_tool_choice(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  engine::ReplyForm& form = draft.request.conversation.form;
  const std::string& type = read_string(required(value, "type", name), name + ".type");
  if (const Value* single = present(value, "disable_parallel_tool_use"))
    draft.parallel_calls = !read_bool(*single, name + ".disable_parallel_tool_use");
  if (type == "none") {
    draft.tools_refused = true;
  } else if (type == "any" || type == "tool") {
    form.calls = engine::ReplyForm::Calls::required;
    if (type == "any") return;
    form.functions = {read_string(required(value, "name", name), name + ".name")};
    form.single_call = true;
  } else if (type != "auto") {
    throw invalid("'tool_choice.type' must be auto, any, tool or none, not '" + type + "'", name + ".type");
  }
}

// {"type": "enabled" | "adaptive" | "disabled", "budget_tokens": …}; there is no budget of its own here.
void read_thinking(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  const std::string& type = read_string(required(value, "type", name), name + ".type");
  if (type != "enabled" && type != "adaptive" && type != "disabled")
    throw invalid("'thinking.type' must be enabled, adaptive or disabled, not '" + type + "'",
                  name + ".type");
  if (const Value* budget = present(value, "budget_tokens"))
    openai::read_count(*budget, name + ".budget_tokens", 1, openai::most_tokens);
  draft.thinking_by_effort = type != "disabled";
}

// {"effort": …, "format": {"type": "json_schema", "schema": …}}
void read_output_config(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  if (const Value* effort = present(value, "effort")) read_string(*effort, name + ".effort");
  const Value* format = present(value, "format");
  if (!format) return;
  const std::string at = name + ".format";
  read_object(*format, at);
  const std::string& type = read_string(required(*format, "type", at), at + ".type");
  if (type != "json_schema")
    throw invalid("'" + at + ".type' must be json_schema, not '" + type + "'", at + ".type");
  openai::read_schema(*format, at, draft);
}

void ignore_object(const Value& value, const std::string& name, Draft&) { read_object(value, name); }

constexpr Field fields[] = {
    {"system", "a string or an array of text blocks: stands before the messages",
     [](const Value& v, const std::string& n, Draft& d) {
       engine::Message system;
       system.role = "system";
       system.content = read_text(v, n);
       auto& messages = d.request.conversation.messages;
       if (!system.content.empty()) messages.insert(messages.begin(), std::move(system));
     }},
    {"messages", "the conversation; roles user and assistant, the last one a user's",
     [](const Value& v, const std::string& n, Draft& d) {
       read_messages(v, n, d.request.conversation.messages);
     }},
    {"max_tokens", "at least 1; must be given",
     [](const Value& v, const std::string& n, Draft& d) {
       d.max_tokens = openai::read_count(v, n, 1, openai::most_tokens);
     }},
    {"stop_sequences", "up to 16 strings, each of at most 256 bytes", openai::read_stop},
    {"tools", "custom tools: name, description, input_schema, strict; at most 128",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.conversation.tools = read_tools(v, n, d.strict_tools);
     }},
    {"tool_choice", "auto, any, tool or none; disable_parallel_tool_use", read_tool_choice},
    {"thinking", "enabled or adaptive: thoughts; without it there are none", read_thinking},
    {"output_config", "format of type json_schema: what the content is held to", read_output_config},
    {"metadata", "accepted without effect", ignore_object},
    {"service_tier", "accepted without effect",
     [](const Value& v, const std::string& n, Draft&) { read_string(v, n); }},
    {"container", "null", openai::refuse},
    {"mcp_servers", "[]", openai::refuse_unless_empty},
    {"context_management", "{}", openai::refuse_unless_empty},
};

}  // namespace

openai::Request read_count_request(const Value& body, const engine::Sampling& defaults) {
  Draft draft = openai::read_fields(body, defaults, {openai::common_fields(), messages_fields()});
  if (!present(body, "messages")) throw invalid("'messages' is missing", "messages");
  if (!draft.thinking_by_effort) draft.thinking_by_effort = false;
  settle_common(draft);
  settle_form(draft);
  return std::move(draft.request);
}

openai::Request read_messages_request(const Value& body, const engine::Sampling& defaults) {
  if (body.object() && !present(body, "max_tokens")) throw invalid("'max_tokens' is missing", "max_tokens");
  return read_count_request(body, defaults);
}

openai::Fields messages_fields() { return fields; }

}  // namespace lockstep::daemon::anthropic
