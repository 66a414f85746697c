#include "daemon/openai/responses_request.h"

#include "daemon/limits.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"
#include "daemon/openai/responses_items.h"

namespace lockstep::daemon::openai {
namespace {

using json::Value;

// A word, or {"type": "function", "name": …}.
void read_tool_choice(const Value& value, const std::string& name, Draft& draft) {
  if (!read_tool_choice_word(value, name, draft)) require_function(value, name, draft);
}

// {"format": {"type": "text" | "json_object" | "json_schema", …}}
void read_text_format(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  const Value* format = present(value, "format");
  if (!format) return;
  const std::string at = name + ".format";
  read_object(*format, at);
  const std::string& type = read_string(required(*format, "type", at), at + ".type");
  if (type == "json_schema") return read_schema(*format, at, draft);
  if (type == "json_object") draft.request.conversation.form.schema = R"({"type":"object"})";
  if (type != "json_object" && type != "text")
    throw invalid("'" + at + ".type' must be text, json_object or json_schema, not '" + type + "'",
                  at + ".type");
}

void read_reasoning(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  if (const Value* effort = present(value, "effort")) read_effort(*effort, name + ".effort", draft);
}

// What a response may contain besides.
void read_include(const Value& value, const std::string& name, Draft& draft) {
  for (const Value& item : read_array(value, name)) {
    const std::string& wanted = read_string(item, name);
    if (wanted == "message.output_text.logprobs")
      draft.logprobs = true;
    else if (wanted != "reasoning.encrypted_content")  // thoughts are not encrypted here
      throw invalid("'include' cannot name '" + wanted + "' here", name);
  }
}

void refuse_true(const Value& value, const std::string& name, Draft&) {
  if (read_bool(value, name)) refuse_unsupported(name);
}
void accept_string(const Value& value, const std::string& name, Draft&) { read_string(value, name); }
void accept_object(const Value& value, const std::string& name, Draft&) { read_object(value, name); }
// Read by read_responses_request() itself.
void accept_later(const Value&, const std::string&, Draft&) {}

constexpr Field fields[] = {
    {"input", "a string, or items: messages, function_call, function_call_output, reasoning", accept_later},
    {"instructions", "stands before the conversation, of this request only", accept_string},
    {"previous_response_id", "a kept response that this request goes on from", accept_string},
    {"store", "false: the response is not kept",
     [](const Value& v, const std::string& n, Draft&) { read_bool(v, n); }},
    {"tools", "functions that the model may call; at most 128",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.conversation.tools = read_flat_tools(v, n, d.strict_tools);
     }},
    {"tool_choice", "auto, none, required or a named function", read_tool_choice},
    {"parallel_tool_calls", "false: the reply ends with its first call",
     [](const Value& v, const std::string& n, Draft& d) { d.parallel_calls = read_bool(v, n); }},
    {"text", "format: text, json_object or json_schema", read_text_format},
    {"reasoning", "effort, as reasoning_effort of chat completions", read_reasoning},
    {"max_output_tokens", "at least 1; missing: what the context leaves",
     [](const Value& v, const std::string& n, Draft& d) { d.max_tokens = read_count(v, n, 1, most_tokens); }},
    {"top_logprobs", "alternatives for each token, 0 to 20; needs include",
     [](const Value& v, const std::string& n, Draft& d) {
       d.top_logprobs = read_count(v, n, 0, limits::top_logprobs);
     }},
    {"include", "message.output_text.logprobs", read_include},
    {"metadata", "accepted, and repeated in the response", accept_object},
    {"user", "accepted without effect", accept_string},
    {"safety_identifier", "accepted without effect", accept_string},
    {"prompt_cache_key", "accepted without effect", accept_string},
    {"service_tier", "accepted without effect", accept_string},
    {"stream_options", "accepted without effect", accept_object},
    {"truncation", "\"disabled\"",
     [](const Value& v, const std::string& n, Draft&) {
       if (read_string(v, n) != "disabled") refuse_unsupported(n);
     }},
    {"background", "false", refuse_true},
    {"conversation", "null", refuse},
    {"prompt", "null", refuse},
    {"max_tool_calls", "null", refuse},
};

json::Object echoed(const Value& body) {
  json::Object echo;
  const std::pair<const char*, Value> standard[] = {
      {"instructions", nullptr},
      {"max_output_tokens", nullptr},
      {"metadata", json::Object{}},
      {"parallel_tool_calls", true},
      {"previous_response_id", nullptr},
      {"reasoning", json::Object{}},
      {"store", true},
      {"temperature", nullptr},
      {"text", json::Object{{"format", json::Object{{"type", "text"}}}}},
      {"tool_choice", "auto"},
      {"tools", json::Array{}},
      {"top_p", nullptr},
      {"truncation", "disabled"},
      {"user", nullptr}};
  for (const auto& [name, missing] : standard) {
    const Value* given = present(body, name);
    echo.push_back({name, given ? *given : missing});
  }
  return echo;
}

}  // namespace

Request read_responses_request(const Value& body, const engine::Sampling& defaults, ResponsesStore& store) {
  Draft draft = read_fields(body, defaults, {common_fields(), responses_fields()});
  Request& request = draft.request;
  std::vector<engine::Message>& messages = request.conversation.messages;
  auto context = std::make_shared<ResponseContext>();
  if (const Value* instructions = present(body, "instructions")) {
    messages.push_back({"system", *instructions->string(), {}, {}, {}});
    context->instructions = 1;
  }
  if (const Value* previous = present(body, "previous_response_id")) {
    const auto kept = store.find(*previous->string());
    if (!kept)
      throw ApiError(404, "invalid_request_error",
                     "the response '" + *previous->string() + "' is not kept here (any more)",
                     "previous_response_id", "previous_response_not_found");
    messages.insert(messages.end(), kept->messages.begin(), kept->messages.end());
  }
  if (const Value* input = present(body, "input")) {
    read_items(*input, "input", messages);
    context->input = normal_items(*input, "in");
  }
  if (messages.size() == context->instructions) throw invalid("'input' is missing", "input");
  if (const Value* kept = present(body, "store")) context->store = *kept->boolean();
  context->echo = echoed(body);
  request.response = std::move(context);
  if (draft.top_logprobs.value_or(0) > 0) draft.logprobs = true;
  settle_common(draft);
  settle_form(draft);
  return std::move(request);
}

Fields responses_fields() { return fields; }

}  // namespace lockstep::daemon::openai
