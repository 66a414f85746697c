// Tables of request fields: what a field is called, what it says, how it is read. Every endpoint's request is
// read by tables, and what endpoints have in common stands in one.
//
// Known fields are strictly typed, null counts as absent, unknown fields are ignored; known fields whose
// effect is not implemented are refused unless they ask for nothing.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/json/value.h"
#include "daemon/openai/request.h"

namespace lockstep::daemon::openai {

// What fields say before they are weighed against each other.
struct Draft {
  Request request;
  std::optional<int> max_tokens, max_completion_tokens, top_logprobs;
  std::optional<bool> thinking_by_effort;
  bool logprobs = false, tools_refused = false, parallel_calls = true, strict_tools = false;
};

struct Field {
  std::string_view name, help;
  // `value` is never null; `name` is the field's own.
  void (*read)(const json::Value& value, const std::string& name, Draft& draft);
};
using Fields = std::span<const Field>;

// Sampling, streaming and the model's name.
Fields common_fields();
// What OpenAI's chat completions and completions have besides.
Fields text_fields();

// Throws ApiError (400) with the param. `defaults` are the values of sampling fields that the request does
// not give.
Draft read_fields(const json::Value& body, const engine::Sampling& defaults,
                  std::initializer_list<Fields> tables);
// What common fields say together.
void settle_common(Draft& draft);
// What the fields about tools and formats together ask of the reply's form.
void settle_form(Draft& draft);

// The JSON value of a body. Throws ApiError (400).
json::Value parse_body(std::string_view body);

// Readers for tables.
int read_count(const json::Value& value, const std::string& name, int low, int high);
inline constexpr int most_tokens = 0x7fffffff;
void read_stop(const json::Value& value, const std::string& name, Draft& draft);
// {"name": …, "schema": …, "strict": …}: the schema that the content fits.
void read_schema(const json::Value& value, const std::string& name, Draft& draft);
// tool_choice. True: it was a word, none, auto or required. Else it is an object of the type "function", and
// its name goes to require_function().
bool read_tool_choice_word(const json::Value& value, const std::string& name, Draft& draft);
void require_function(const json::Value& function, const std::string& name, Draft& draft);
void read_effort(const json::Value& value, const std::string& name, Draft& draft);
[[noreturn]] void refuse_unsupported(const std::string& name);
void refuse(const json::Value&, const std::string& name, Draft&);
void refuse_unless_empty(const json::Value& value, const std::string& name, Draft&);

}  // namespace lockstep::daemon::openai
