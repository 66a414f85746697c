#include "daemon/openai/chat_request.h"

#include <array>

#include "daemon/limits.h"
#include "daemon/openai/conversation.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::openai {
namespace {

using json::Value;

// "none", "auto", "required", or {"type": "function", "function": {"name": …}}.
void read_tool_choice(const Value& value, const std::string& name, Draft& draft) {
  if (read_tool_choice_word(value, name, draft)) return;
  const Value& function = required(value, "function", name);
  read_object(function, name + ".function");
  require_function(function, name + ".function", draft);
}

// {"type": "text"}, {"type": "json_object"}, or
// {"type": "json_schema", "json_schema": {"name": …, "schema": …, "strict": …}}.
void read_response_format(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  const Value& type = required(value, "type", name);
  const std::string& kind = read_string(type, name + ".type");
  if (kind == "text") return;
  engine::ReplyForm& form = draft.request.conversation.form;
  form.schema = R"({"type":"object"})";
  if (kind == "json_object") return;
  if (kind != "json_schema")
    throw invalid("'response_format.type' must be text, json_object or json_schema, not '" + kind + "'",
                  name + ".type");
  read_schema(required(value, "json_schema", name), name + ".json_schema", draft);
}

void refuse_unless_text_modality(const Value& value, const std::string& name, Draft&) {
  for (const Value& item : read_array(value, name))
    if (read_string(item, name) != "text") refuse_unsupported(name);
}

constexpr Field fields[] = {
    {"messages", "the conversation; roles system, developer, user, assistant, tool",
     [](const Value& v, const std::string&, Draft& d) {
       d.request.conversation.messages = read_messages(v);
     }},
    {"tools", "functions that the model may call; at most 128; strict ones are held to their schemas",
     [](const Value& v, const std::string&, Draft& d) {
       d.request.conversation.tools = read_tools(v, d.strict_tools);
     }},
    {"tool_choice",
     "\"auto\"; \"none\": as if no tools were given; \"required\" or a named function: nothing but calls",
     read_tool_choice},
    {"parallel_tool_calls", "false: the reply ends with its first call",
     [](const Value& v, const std::string& n, Draft& d) { d.parallel_calls = read_bool(v, n); }},
    {"response_format", "text, json_object or json_schema: what the content is held to",
     read_response_format},
    {"max_completion_tokens", "as max_tokens; the smaller of both counts",
     [](const Value& v, const std::string& n, Draft& d) {
       d.max_completion_tokens = read_count(v, n, 1, most_tokens);
     }},
    {"logprobs", "true: log-probabilities of the reply's tokens",
     [](const Value& v, const std::string& n, Draft& d) { d.logprobs = read_bool(v, n); }},
    {"top_logprobs", "alternatives for each token, 0 to 20; needs logprobs",
     [](const Value& v, const std::string& n, Draft& d) {
       d.top_logprobs = read_count(v, n, 0, limits::top_logprobs);
     }},
    {"chat_template_kwargs", "variables for the template; enable_thinking wins over reasoning_effort",
     [](const Value& v, const std::string&, Draft& d) {
       read_template_arguments(v, d.request.conversation);
     }},
    {"reasoning_effort", "\"none\": no thinking; minimal, low, medium, high, xhigh: thinking", read_effort},
    {"modalities", "[\"text\"]", refuse_unless_text_modality},
    {"functions", "[]", refuse_unless_empty},
    {"function_call", "null", refuse},
    {"audio", "null", refuse},
    {"prediction", "null", refuse},
    {"web_search_options", "null", refuse},
    {"grammar", "null", refuse},
    {"json_schema", "null", refuse},
    {"guided_json", "null", refuse},
    {"guided_regex", "null", refuse},
    {"guided_choice", "null", refuse},
    {"guided_grammar", "null", refuse},
    {"structured_outputs", "null", refuse},
};

}  // namespace

Request read_chat_request(const Value& body, const engine::Sampling& defaults) {
  Draft draft = read_fields(body, defaults, {common_fields(), text_fields(), chat_fields()});
  if (draft.request.conversation.messages.empty()) throw invalid("'messages' is missing", "messages");
  settle_common(draft);
  settle_form(draft);
  return std::move(draft.request);
}

Fields chat_fields() { return fields; }

}  // namespace lockstep::daemon::openai
