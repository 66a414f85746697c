#include "daemon/openai/chat_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

#include "daemon/limits.h"
#include "daemon/openai/conversation.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::openai {
namespace {

using json::Value;

// What fields say before they are weighed against each other.
struct Draft {
  ChatRequest request;
  std::optional<int> max_tokens, max_completion_tokens, top_logprobs;
  std::optional<bool> thinking_by_effort;
  bool logprobs = false, tools_refused = false, parallel_calls = true, strict_tools = false;
};

// `read` gets the field's value, never null; `name` is the field's own.
struct Field {
  FieldHelp help;
  void (*read)(const Value& value, const std::string& name, Draft& draft);
};

int read_count(const Value& value, const std::string& name, int low, int high) {
  return static_cast<int>(read_integer(value, name, static_cast<uint64_t>(low), static_cast<uint64_t>(high)));
}

void read_stop(const Value& value, const std::string& name, Draft& draft) {
  std::vector<std::string>& stop = draft.request.sampling.stop;
  stop.clear();
  if (const json::Array* items = value.array()) {
    if (items->size() > limits::stops)
      throw invalid("'stop' holds " + std::to_string(items->size()) + " strings; at most " +
                        std::to_string(limits::stops) + " are taken",
                    name);
    for (std::size_t i = 0; i < items->size(); ++i)
      stop.push_back(read_string((*items)[i], name + "[" + std::to_string(i) + "]"));
  } else if (const std::string* text = value.string()) {
    stop.push_back(*text);
  } else {
    refuse_kind(value, name, "a string or an array of strings");
  }
  for (const std::string& text : stop)
    if (text.empty() || text.size() > limits::stop_bytes)
      throw invalid("a string of 'stop' must have 1 to " + std::to_string(limits::stop_bytes) + " bytes",
                    name);
}

void read_stream_options(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  if (const Value* usage = value.find("include_usage"); usage && !usage->is_null())
    draft.request.include_usage = read_bool(*usage, name + ".include_usage");
}

// {"token id": bias, …}
void read_logit_bias(const Value& value, const std::string& name, Draft& draft) {
  const json::Object& members = read_object(value, name);
  if (members.size() > limits::biases)
    throw invalid("'logit_bias' has " + std::to_string(members.size()) + " tokens; at most " +
                      std::to_string(limits::biases) + " are taken",
                  name);
  std::map<int32_t, float> biases;  // of a token given twice the last one counts
  for (const json::Member& member : members) {
    const std::string& key = member.key;
    int32_t token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc() || end != key.data() + key.size() || token < 0)
      throw invalid("'logit_bias' must map token ids to biases; '" + key.substr(0, 40) + "' is no token id",
                    name);
    biases[token] = read_number(member.value, name, -100, 100);
  }
  draft.request.sampling.logit_bias.assign(biases.begin(), biases.end());
}

// "none", "auto", "required", or {"type": "function", "function": {"name": …}}.
void read_tool_choice(const Value& value, const std::string& name, Draft& draft) {
  engine::ReplyForm& form = draft.request.conversation.form;
  if (const std::string* choice = value.string()) {
    if (*choice != "auto" && *choice != "none" && *choice != "required")
      throw invalid("'tool_choice' must be none, auto, required or name a function, not '" + *choice + "'",
                    name);
    draft.tools_refused = *choice == "none";
    if (*choice == "required") form.calls = engine::ReplyForm::Calls::required;
    return;
  }
  if (!value.object()) refuse_kind(value, name, "a string or an object");
  const Value& type = required(value, "type", name);
  if (read_string(type, name + ".type") != "function")
    throw invalid("'tool_choice.type' must be 'function', not '" + *type.string() + "'", name + ".type");
  const std::string at = name + ".function";
  const Value& function = required(value, "function", name);
  read_object(function, at);
  form.calls = engine::ReplyForm::Calls::required;
  form.functions = {read_string(required(function, "name", at), at + ".name")};
  form.single_call = true;
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
  const std::string at = name + ".json_schema";
  const Value& given = required(value, "json_schema", name);
  read_object(given, at);
  if (const Value* title = present(given, "name")) read_string(*title, at + ".name");
  if (const Value* strict = present(given, "strict")) form.strict = read_bool(*strict, at + ".strict");
  const Value& schema = required(given, "schema", at);
  if (!schema.object() && !schema.boolean()) refuse_kind(schema, at + ".schema", "an object or a boolean");
  form.schema = json::write(schema);
}

void read_effort(const Value& value, const std::string& name, Draft& draft) {
  static constexpr std::array efforts{"none", "minimal", "low", "medium", "high", "xhigh"};
  const std::string& effort = read_string(value, name);
  if (std::find(efforts.begin(), efforts.end(), effort) == efforts.end())
    throw invalid(
        "'reasoning_effort' must be none, minimal, low, medium, high or xhigh, not '" + effort + "'", name);
  draft.thinking_by_effort = effort != "none";
}

[[noreturn]] void refuse_unsupported(const std::string& name) {
  throw invalid("'" + name + "' is not supported by this server; leave it out", name);
}

void refuse(const Value&, const std::string& name, Draft&) { refuse_unsupported(name); }
void refuse_unless_empty(const Value& value, const std::string& name, Draft&) {
  const json::Array* items = value.array();
  const json::Object* members = value.object();
  if (!items && !members) refuse_kind(value, name, "an object or an array");
  if ((items && !items->empty()) || (members && !members->empty())) refuse_unsupported(name);
}
void refuse_unless_text_modality(const Value& value, const std::string& name, Draft&) {
  for (const Value& item : read_array(value, name))
    if (read_string(item, name) != "text") refuse_unsupported(name);
}

constexpr int most_tokens = std::numeric_limits<int>::max();

constexpr Field fields[] = {
    {{"model", "name of the served model, or \"default\""},
     [](const Value& v, const std::string& n, Draft& d) { d.request.model = read_string(v, n); }},
    {{"messages", "the conversation; roles system, developer, user, assistant, tool"},
     [](const Value& v, const std::string&, Draft& d) {
       d.request.conversation.messages = read_messages(v);
     }},
    {{"tools", "functions that the model may call; at most 128; strict ones are held to their schemas"},
     [](const Value& v, const std::string&, Draft& d) {
       d.request.conversation.tools = read_tools(v, d.strict_tools);
     }},
    {{"tool_choice",
      "\"auto\"; \"none\": as if no tools were given; \"required\" or a named function: nothing but calls"},
     read_tool_choice},
    {{"parallel_tool_calls", "false: the reply ends with its first call"},
     [](const Value& v, const std::string& n, Draft& d) { d.parallel_calls = read_bool(v, n); }},
    {{"temperature", "0 (greedy) to 2"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.temperature = read_number(v, n, 0, 2);
     }},
    {{"top_p", "0 to 1"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.top_p = read_number(v, n, 0, 1);
     }},
    {{"top_k", "candidates kept; 0: all"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.top_k = read_count(v, n, 0, most_tokens);
     }},
    {{"min_p", "0 to 1"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.min_p = read_number(v, n, 0, 1);
     }},
    {{"seed", "0 to 2^64 - 1; missing: derived from the prompt"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.seed = read_integer(v, n, 0, std::numeric_limits<uint64_t>::max());
     }},
    {{"stop", "a string or up to 16, each of at most 256 bytes"}, read_stop},
    {{"max_tokens", "at least 1; missing: what the context leaves"},
     [](const Value& v, const std::string& n, Draft& d) { d.max_tokens = read_count(v, n, 1, most_tokens); }},
    {{"max_completion_tokens", "the same; the smaller of both counts"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.max_completion_tokens = read_count(v, n, 1, most_tokens);
     }},
    {{"n", "1"}, [](const Value& v, const std::string& n, Draft&) { read_count(v, n, 1, 1); }},
    {{"logprobs", "true: log-probabilities of the reply's tokens"},
     [](const Value& v, const std::string& n, Draft& d) { d.logprobs = read_bool(v, n); }},
    {{"top_logprobs", "alternatives for each token, 0 to 20; needs logprobs"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.top_logprobs = read_count(v, n, 0, limits::top_logprobs);
     }},
    {{"stream", "true: send the reply as it is made"},
     [](const Value& v, const std::string& n, Draft& d) { d.request.stream = read_bool(v, n); }},
    {{"stream_options", "include_usage: true adds a chunk with the usage"}, read_stream_options},
    {{"ignore_eos", "true: go on after the model's end token"},
     [](const Value& v, const std::string& n, Draft& d) { d.request.sampling.ignore_end = read_bool(v, n); }},
    {{"chat_template_kwargs", "variables for the template; enable_thinking wins over reasoning_effort"},
     [](const Value& v, const std::string&, Draft& d) {
       read_template_arguments(v, d.request.conversation);
     }},
    {{"reasoning_effort", "\"none\": no thinking; minimal, low, medium, high, xhigh: thinking"}, read_effort},
    {{"user", "accepted without effect"},
     [](const Value& v, const std::string& n, Draft&) { read_string(v, n); }},
    {{"response_format", "text, json_object or json_schema: what the content is held to"},
     read_response_format},
    {{"modalities", "[\"text\"]"}, refuse_unless_text_modality},
    {{"logit_bias", "token ids and -100 (never) to 100 (always), added to their logits; at most 1024"},
     read_logit_bias},
    {{"functions", "[]"}, refuse_unless_empty},
    {{"presence_penalty", "-2 to 2: subtracted once for each token of the reply"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.presence_penalty = read_number(v, n, -2, 2);
     }},
    {{"frequency_penalty", "-2 to 2: subtracted for each time a token is in the reply"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.frequency_penalty = read_number(v, n, -2, 2);
     }},
    {{"repetition_penalty", "0.01 to 100: divides the logits of the prompt's and the reply's tokens; 1: off"},
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.repetition_penalty = read_number(v, n, 0.01, 100);
     }},
    {{"function_call", "null"}, refuse},
    {{"audio", "null"}, refuse},
    {{"prediction", "null"}, refuse},
    {{"web_search_options", "null"}, refuse},
    {{"grammar", "null"}, refuse},
    {{"json_schema", "null"}, refuse},
    {{"guided_json", "null"}, refuse},
    {{"guided_regex", "null"}, refuse},
    {{"guided_choice", "null"}, refuse},
    {{"guided_grammar", "null"}, refuse},
    {{"structured_outputs", "null"}, refuse},
};

// What the fields together ask of the reply's form.
void settle_form(Draft& draft) {
  engine::Conversation& conversation = draft.request.conversation;
  engine::ReplyForm& form = conversation.form;
  using Calls = engine::ReplyForm::Calls;
  if (draft.tools_refused) conversation.tools.clear();
  if (form.calls == Calls::required) {
    form.schema.clear();  // it is about content, and there will be none
    if (conversation.tools.empty())
      throw invalid("'tool_choice' asks for a call, but 'tools' is empty", "tool_choice");
  } else if (draft.strict_tools && !conversation.tools.empty()) {
    form.calls = Calls::checked;
  }
  form.single_call |= !draft.parallel_calls;
}

// What depends on more than one field.
ChatRequest weigh(Draft draft) {
  ChatRequest& request = draft.request;
  if (request.conversation.messages.empty()) throw invalid("'messages' is missing", "messages");
  if (draft.top_logprobs.value_or(0) > 0 && !draft.logprobs)
    throw invalid("'top_logprobs' needs 'logprobs': true", "top_logprobs");
  if (draft.logprobs) request.sampling.top_logprobs = draft.top_logprobs.value_or(0);
  if (draft.max_tokens || draft.max_completion_tokens)
    request.sampling.max_tokens =
        std::min(draft.max_tokens.value_or(most_tokens), draft.max_completion_tokens.value_or(most_tokens));
  settle_form(draft);
  if (!request.conversation.thinking) request.conversation.thinking = draft.thinking_by_effort;
  return std::move(request);
}

}  // namespace

ChatRequest read_chat_request(const Value& body, const engine::Sampling& defaults) {
  if (!body.object())
    throw invalid("the body must be a JSON object, not " + std::string(json::kind_name(body)));
  Draft draft;
  draft.request.sampling = defaults;
  for (const Field& field : fields)
    if (const Value* value = body.find(field.help.name); value && !value->is_null())
      field.read(*value, std::string(field.help.name), draft);
  return weigh(std::move(draft));
}

ChatRequest parse_chat_request(std::string_view body, const engine::Sampling& defaults) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw invalid("the body is empty; it must be a JSON object");
  Value value;
  try {
    value = json::parse(body);
  } catch (const json::ParseError& error) {
    throw invalid(
        error.path().empty() ? error.what() : std::string(error.what()) + ", in '" + error.path() + "'",
        error.path(), "invalid_json");
  }
  return read_chat_request(value, defaults);
}

std::span<const FieldHelp> chat_fields() {
  static const auto help = [] {
    std::array<FieldHelp, std::size(fields)> out;
    std::transform(std::begin(fields), std::end(fields), out.begin(), [](const Field& f) { return f.help; });
    return out;
  }();
  return help;
}

}  // namespace lockstep::daemon::openai
