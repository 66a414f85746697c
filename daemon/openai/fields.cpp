#include "daemon/openai/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

#include "daemon/limits.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::openai {
namespace {

using json::Value;

void read_stream_options(const Value& value, const std::string& name, Draft& draft) {
  read_object(value, name);
  if (const Value* usage = present(value, "include_usage"))
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

// From -100 to 100.
void read_priority(const Value& value, const std::string& name, Draft& draft) {
  const json::Number* number = value.number();
  int priority = 0;
  const std::string text = number ? number->text : "";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority);
  if (!number || error != std::errc() || end != text.data() + text.size() || priority < -100 ||
      priority > engine::Sampling::last_priority)
    throw invalid("'priority' must be an integer from -100 (first) to 100 (last)", name);
  draft.request.sampling.priority = priority;
}

constexpr Field common[] = {
    {"model", "name of the served model, or \"default\"",
     [](const Value& v, const std::string& n, Draft& d) { d.request.model = read_string(v, n); }},
    {"temperature", "0 (greedy) to 2",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.temperature = read_number(v, n, 0, 2);
     }},
    {"top_p", "0 to 1",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.top_p = read_number(v, n, 0, 1);
     }},
    {"top_k", "candidates kept; 0: all",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.top_k = read_count(v, n, 0, most_tokens);
     }},
    {"min_p", "0 to 1",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.min_p = read_number(v, n, 0, 1);
     }},
    {"seed", "0 to 2^64 - 1; missing: derived from the prompt",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.seed = read_integer(v, n, 0, std::numeric_limits<uint64_t>::max());
     }},
    {"presence_penalty", "-2 to 2: subtracted once for each token of the reply",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.presence_penalty = read_number(v, n, -2, 2);
     }},
    {"frequency_penalty", "-2 to 2: subtracted for each time a token is in the reply",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.frequency_penalty = read_number(v, n, -2, 2);
     }},
    {"repetition_penalty", "0.01 to 100: divides the logits of the prompt's and the reply's tokens; 1: off",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.sampling.repetition_penalty = read_number(v, n, 0.01, 100);
     }},
    {"logit_bias", "token ids and -100 (never) to 100 (always), added to their logits; at most 1024",
     read_logit_bias},
    {"ignore_eos", "true: go on after the model's end token",
     [](const Value& v, const std::string& n, Draft& d) { d.request.sampling.ignore_end = read_bool(v, n); }},
    {"draft", "false: no drafts; the reply is the same",
     [](const Value& v, const std::string& n, Draft& d) {
       using When = engine::Sampling::Draft;
       d.request.sampling.draft = read_bool(v, n) ? When::priced : When::never;
     }},
    {"priority", "-100 (first) to 100 (last): the order among requests that wait; 0", read_priority},
    {"stream", "true: send the reply as it is made",
     [](const Value& v, const std::string& n, Draft& d) { d.request.stream = read_bool(v, n); }},
};

constexpr Field text[] = {
    {"n", "replies to each prompt, 1 to 16; each has its own seed",
     [](const Value& v, const std::string& n, Draft& d) {
       d.request.n = read_count(v, n, 1, limits::choices);
     }},
    {"stop", "a string or up to 16, each of at most 256 bytes", read_stop},
    {"max_tokens", "at least 1; missing: what the context leaves",
     [](const Value& v, const std::string& n, Draft& d) { d.max_tokens = read_count(v, n, 1, most_tokens); }},
    {"stream_options", "include_usage: true adds a chunk with the usage", read_stream_options},
    {"user", "accepted without effect",
     [](const Value& v, const std::string& n, Draft&) { read_string(v, n); }},
};

}  // namespace

Fields common_fields() { return common; }
Fields text_fields() { return text; }

Draft read_fields(const Value& body, const engine::Sampling& defaults, std::initializer_list<Fields> tables) {
  if (!body.object())
    throw invalid("the body must be a JSON object, not " + std::string(json::kind_name(body)));
  Draft draft;
  draft.request.sampling = defaults;
  for (const Fields table : tables)
    for (const Field& field : table)
      if (const Value* value = present(body, field.name)) field.read(*value, std::string(field.name), draft);
  return draft;
}

void settle_common(Draft& draft) {
  Request& request = draft.request;
  if (draft.top_logprobs.value_or(0) > 0 && !draft.logprobs)
    throw invalid("'top_logprobs' needs 'logprobs': true", "top_logprobs");
  if (draft.logprobs) request.sampling.top_logprobs = draft.top_logprobs.value_or(0);
  if (draft.max_tokens || draft.max_completion_tokens)
    request.sampling.max_tokens =
        std::min(draft.max_tokens.value_or(most_tokens), draft.max_completion_tokens.value_or(most_tokens));
  if (!request.conversation.thinking) request.conversation.thinking = draft.thinking_by_effort;
  if (request.choices() > limits::choices)
    throw invalid("prompts and 'n' ask for " + std::to_string(request.choices()) + " replies; at most " +
                      std::to_string(limits::choices) + " are given to a request",
                  "n");
}

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

Value parse_body(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw invalid("the body is empty; it must be a JSON object");
  try {
    return json::parse(body);
  } catch (const json::ParseError& error) {
    throw invalid(
        error.path().empty() ? error.what() : std::string(error.what()) + ", in '" + error.path() + "'",
        error.path(), "invalid_json");
  }
}

int read_count(const Value& value, const std::string& name, int low, int high) {
  return static_cast<int>(read_integer(value, name, static_cast<uint64_t>(low), static_cast<uint64_t>(high)));
}

void read_stop(const Value& value, const std::string& name, Draft& draft) {
  std::vector<std::string>& stop = draft.request.sampling.stop;
  stop.clear();
  if (const json::Array* items = value.array()) {
    if (items->size() > limits::stops)
      throw invalid("'" + name + "' holds " + std::to_string(items->size()) + " strings; at most " +
                        std::to_string(limits::stops) + " are taken",
                    name);
    for (std::size_t i = 0; i < items->size(); ++i)
      stop.push_back(read_string((*items)[i], name + "[" + std::to_string(i) + "]"));
  } else if (const std::string* one = value.string()) {
    stop.push_back(*one);
  } else {
    refuse_kind(value, name, "a string or an array of strings");
  }
  for (const std::string& one : stop)
    if (one.empty() || one.size() > limits::stop_bytes)
      throw invalid(
          "a string of '" + name + "' must have 1 to " + std::to_string(limits::stop_bytes) + " bytes", name);
}

void read_schema(const Value& value, const std::string& name, Draft& draft) {
  engine::ReplyForm& form = draft.request.conversation.form;
  read_object(value, name);
  if (const Value* title = present(value, "name")) read_string(*title, name + ".name");
  if (const Value* strict = present(value, "strict")) form.strict = read_bool(*strict, name + ".strict");
  const Value& schema = required(value, "schema", name);
  if (!schema.object() && !schema.boolean()) refuse_kind(schema, name + ".schema", "an object or a boolean");
  form.schema = json::write(schema);
}

bool read_tool_choice_word(const Value& value, const std::string& name, Draft& draft) {
  if (const std::string* choice = value.string()) {
    if (*choice != "auto" && *choice != "none" && *choice != "required")
      throw invalid("'tool_choice' must be none, auto, required or name a function, not '" + *choice + "'",
                    name);
    draft.tools_refused = *choice == "none";
    if (*choice == "required") draft.request.conversation.form.calls = engine::ReplyForm::Calls::required;
    return true;
  }
  if (!value.object()) refuse_kind(value, name, "a string or an object");
  const std::string& type = read_string(required(value, "type", name), name + ".type");
  if (type != "function")
    throw invalid("'tool_choice.type' must be 'function', not '" + type + "'", name + ".type");
  return false;
}

void require_function(const Value& function, const std::string& name, Draft& draft) {
  engine::ReplyForm& form = draft.request.conversation.form;
  form.calls = engine::ReplyForm::Calls::required;
  form.functions = {read_string(required(function, "name", name), name + ".name")};
  form.single_call = true;
}

void read_effort(const Value& value, const std::string& name, Draft& draft) {
  static constexpr std::array efforts{"none", "minimal", "low", "medium", "high", "xhigh"};
  const std::string& effort = read_string(value, name);
  if (std::find(efforts.begin(), efforts.end(), effort) == efforts.end())
    throw invalid("'" + name + "' must be none, minimal, low, medium, high or xhigh, not '" + effort + "'",
                  name);
  draft.thinking_by_effort = effort != "none";
}

void refuse_unsupported(const std::string& name) {
  throw invalid("'" + name + "' is not supported by this server; leave it out", name);
}

void refuse(const Value&, const std::string& name, Draft&) { refuse_unsupported(name); }

void refuse_unless_empty(const Value& value, const std::string& name, Draft&) {
  const json::Array* items = value.array();
  const json::Object* members = value.object();
  if (!items && !members) refuse_kind(value, name, "an object or an array");
  if ((items && !items->empty()) || (members && !members->empty())) refuse_unsupported(name);
}

}  // namespace lockstep::daemon::openai
