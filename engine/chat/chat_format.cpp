#include "engine/chat/chat_format.h"

#include <simdjson.h>

#include <fstream>
#include <iterator>

#include "engine/chat/language/json.h"
#include "engine/chat/language/template.h"

namespace lockstep::engine {
namespace {

using language::Dict;
using language::Fault;
using language::Kind;
using language::Meter;
using language::Text;
using language::Value;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw TemplateError("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file's JSON object; an empty mapping if there is no such file.
Value read_config(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return Value::mapping({});
  try {
    Meter meter;
    Value config = language::parse_json(read_file(path), meter);
    if (config.is(Kind::mapping)) return config;
  } catch (const Fault& fault) {
    throw TemplateError(path.string() + ": " + fault.what());
  }
  throw TemplateError(path.string() + " is not a JSON object");
}

const Value* find_string(const Dict& dict, std::string_view key) {
  const Value* value = dict.find(key);
  return value && value->is(Kind::string) ? value : nullptr;
}

// chat_template of tokenizer_config.json: text, or a list of {"name", "template"} of which "default" is
// meant.
std::string template_of(const Dict& config) {
  const Value* chosen = config.find("chat_template");
  if (!chosen) return {};
  if (chosen->is(Kind::string)) return chosen->text().text;
  if (!chosen->is(Kind::list)) return {};
  std::string first;
  for (const Value& entry : chosen->items()) {
    if (!entry.is(Kind::mapping)) continue;
    const Value *name = find_string(entry.dict(), "name"), *text = find_string(entry.dict(), "template");
    if (!name || !text) continue;
    if (name->text().text == "default") return text->text().text;
    if (first.empty()) first = text->text().text;
  }
  return first;
}

Value data_text(const std::string& text) { return Value::string(Text(text, true)); }

Value arguments_of(const ToolCall& call, Meter& meter) {
  if (call.arguments.empty()) return Value::mapping({});
  Value arguments;
  try {
    arguments = language::parse_json(call.arguments, meter);
  } catch (const Fault& fault) {
    throw TemplateError("the arguments of the call of " + call.name + " are " + fault.what());
  }
  if (!arguments.is(Kind::mapping))
    throw TemplateError("the arguments of the call of " + call.name + " are not a JSON object");
  return arguments;
}

Value calls_of(const Message& message, Meter& meter) {
  std::vector<Value> calls;
  for (const ToolCall& call : message.calls) {
    Dict function, entry;
    function.set("name", data_text(call.name));
    function.set("arguments", arguments_of(call, meter));
    if (!call.id.empty()) entry.set("id", data_text(call.id));
    entry.set("type", Value::literal("function"));
    entry.set("function", Value::mapping(std::move(function)));
    calls.push_back(Value::mapping(std::move(entry)));
  }
  return Value::sequence(Kind::list, std::move(calls));
}

bool instructs(const Message& message) { return message.role == "system" || message.role == "developer"; }

// The name of the function that a tool's message answers.
const std::string* answered(const std::vector<Message>& messages, size_t at) {
  for (size_t i = at; i-- > 0;)
    for (const ToolCall& call : messages[i].calls)
      if (!call.id.empty() && call.id == messages[at].call_id) return &call.name;
  return nullptr;
}

Value message_value(const std::vector<Message>& messages, size_t at, Meter& meter) {
  const Message& message = messages[at];
  Dict dict;
  dict.set("role", instructs(message) ? Value::literal("user") : data_text(message.role));
  dict.set("content", data_text(message.content));
  if (message.reasoning) dict.set("reasoning_content", data_text(*message.reasoning));
  if (!message.calls.empty()) dict.set("tool_calls", calls_of(message, meter));
  if (!message.call_id.empty()) {
    dict.set("tool_call_id", data_text(message.call_id));
    if (const std::string* name = answered(messages, at)) dict.set("name", data_text(*name));
  }
  return Value::mapping(std::move(dict));
}

Value messages_value(const std::vector<Message>& messages, Meter& meter) {
  std::vector<Value> values;
  size_t at = 0;
  std::string instructions;
  for (; at < messages.size() && instructs(messages[at]); ++at) {
    if (!instructions.empty() && !messages[at].content.empty()) instructions += "\n\n";
    instructions += messages[at].content;
  }
  if (at > 0) {
    Dict dict;
    dict.set("role", Value::literal("system"));
    dict.set("content", data_text(instructions));
    values.push_back(Value::mapping(std::move(dict)));
  }
  for (; at < messages.size(); ++at) values.push_back(message_value(messages, at, meter));
  return Value::sequence(Kind::list, std::move(values));
}

Value tools_value(const std::vector<std::string>& tools, Meter& meter) {
  if (tools.empty()) return Value::none();
  std::vector<Value> values;
  for (const std::string& tool : tools) {
    try {
      values.push_back(language::parse_json(tool, meter));
    } catch (const Fault& fault) {
      throw TemplateError("tool " + std::to_string(values.size()) + " is " + fault.what());
    }
    if (!values.back().is(Kind::mapping))
      throw TemplateError("tool " + std::to_string(values.size() - 1) + " is not a JSON object");
  }
  return Value::sequence(Kind::list, std::move(values));
}

}  // namespace

struct ChatFormat::State {
  language::Template tmpl;
  Dict tokens;  // bos_token and so on: the template's own text
  bool calls_in_json = false;
};

ChatFormat::ChatFormat(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatFormat::ChatFormat(ChatFormat&&) noexcept = default;
ChatFormat::~ChatFormat() = default;

ChatFormat ChatFormat::load(const std::filesystem::path& directory) {
  const Value config = read_config(directory / "tokenizer_config.json");
  const std::filesystem::path file = directory / "chat_template.jinja";
  const std::string source = std::filesystem::exists(file) ? read_file(file) : template_of(config.dict());
  if (source.empty())
    throw TemplateError(directory.string() +
                        " has no chat template; put one into chat_template.jinja or tokenizer_config.json");
  Dict tokens;
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const Value* token = config.dict().find(name);
    if (token && token->is(Kind::mapping)) token = find_string(token->dict(), "content");
    if (token && token->is(Kind::string)) tokens.set(name, Value::literal(token->text().text));
  }
  ChatFormat format(std::make_unique<State>(State{language::Template::parse(source), std::move(tokens)}));
  format.state_->calls_in_json = format.writes_json_calls();
  return format;
}

bool ChatFormat::calls_in_json() const { return state_->calls_in_json; }

// Looks at how the template writes a call down.
bool ChatFormat::writes_json_calls() const {
  Conversation probe;
  probe.messages = {{"user", "a", {}, {}, {}}, {"assistant", "", {}, {{"1", "probe", R"({"b": "c"})"}}, {}}};
  try {
    const std::string text = render(probe).text;
    const size_t call = text.find("<tool_call>");
    return call != std::string::npos && text.find("<function=probe>", call) == std::string::npos &&
           text.find("\"name\"", call) != std::string::npos;
  } catch (const TemplateError&) {
    return false;  // a template without calls
  }
}

MarkedText ChatFormat::render(const Conversation& conversation) const {
  try {
    Meter meter;
    Dict variables = state_->tokens;
    variables.set("messages", messages_value(conversation.messages, meter));
    variables.set("tools", tools_value(conversation.tools, meter));
    variables.set("documents", Value::none());
    variables.set("add_generation_prompt", Value::boolean(true));
    if (conversation.thinking) variables.set("enable_thinking", Value::boolean(*conversation.thinking));
    if (!conversation.template_arguments.empty()) {
      const Value more = language::parse_json(conversation.template_arguments, meter);
      if (!more.is(Kind::mapping)) throw Fault("not a JSON object");
      for (const auto& [name, value] : more.dict().entries()) variables.set(name, value, meter);
    }
    return state_->tmpl.render(variables);
  } catch (const Fault& fault) {
    throw TemplateError("the template's arguments are " + std::string(fault.what()));
  }
}

}  // namespace lockstep::engine
