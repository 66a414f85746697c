#include "daemon/openai/conversation.h"

#include <algorithm>
#include <array>

#include "daemon/limits.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::openai {
namespace {

constexpr std::array roles{"system", "developer", "user", "assistant", "tool"};

std::string element(const std::string& at, std::size_t index) {
  return at + "[" + std::to_string(index) + "]";
}

// A string, or an array of text parts, which say the same as their texts joined.
std::string read_content(const json::Value& value, const std::string& at) {
  if (const std::string* text = value.string()) return *text;
  const json::Array* parts = value.array();
  if (!parts) refuse_kind(value, at, "a string or an array of text parts");
  std::string joined;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const json::Value& part = (*parts)[i];
    const std::string here = element(at, i);
    read_object(part, here);
    const std::string& type = read_string(required(part, "type", here), here + ".type");
    if (type != "text")
      throw invalid("'" + here + ".type' is '" + type + "': this server reads parts of type 'text' only",
                    here + ".type");
    joined += read_string(required(part, "text", here), here + ".text");
  }
  return joined;
}

engine::ToolCall read_call(const json::Value& value, const std::string& at) {
  read_object(value, at);
  engine::ToolCall call;
  if (const json::Value* id = present(value, "id")) call.id = read_string(*id, at + ".id");
  if (const json::Value* type = present(value, "type"))
    if (read_string(*type, at + ".type") != "function")
      throw invalid("'" + at + ".type' must be 'function'", at + ".type");
  const json::Value& function = required(value, "function", at);
  const std::string here = at + ".function";
  read_object(function, here);
  call.name = read_string(required(function, "name", here), here + ".name");
  const json::Value* arguments = present(function, "arguments");
  call.arguments = arguments ? read_arguments(*arguments, here + ".arguments") : "{}";
  return call;
}

void read_assistant(const json::Value& value, const std::string& at, engine::Message& message) {
  if (const json::Value* reasoning = present(value, "reasoning_content"))
    message.reasoning = read_string(*reasoning, at + ".reasoning_content");
  if (const json::Value* calls = present(value, "tool_calls")) {
    const std::string here = at + ".tool_calls";
    const json::Array& items = read_array(*calls, here);
    for (std::size_t i = 0; i < items.size(); ++i)
      message.calls.push_back(read_call(items[i], element(here, i)));
  }
  if (present(value, "function_call"))
    throw invalid("'" + at + ".function_call' is not supported; use 'tool_calls'", at + ".function_call");
}

engine::Message read_message(const json::Value& value, const std::string& at) {
  read_object(value, at);
  engine::Message message;
  message.role = read_string(required(value, "role", at), at + ".role");
  if (std::find(roles.begin(), roles.end(), message.role) == roles.end())
    throw invalid(
        "'" + at + ".role' must be system, developer, user, assistant or tool, not '" + message.role + "'",
        at + ".role");
  if (message.role == "assistant") read_assistant(value, at, message);
  if (const json::Value* id = present(value, "tool_call_id"))
    message.call_id = read_string(*id, at + ".tool_call_id");
  if (const json::Value* content = present(value, "content")) {
    message.content = read_content(*content, at + ".content");
  } else if (message.calls.empty() && !message.reasoning) {
    throw invalid("'" + at +
                      ".content' is missing: only an assistant's message with 'tool_calls' or "
                      "'reasoning_content' may go without",
                  at + ".content");
  }
  return message;
}

void check_tool_name(const std::string& name, const std::string& at) {
  const auto allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (name.empty() || name.size() > limits::tool_name_bytes ||
      !std::all_of(name.begin(), name.end(), allowed))
    throw invalid("'" + at + "' must be 1 to " + std::to_string(limits::tool_name_bytes) +
                      " letters, digits, '_', '-' or '.'",
                  at);
}

// Whether the tool is strict.
bool check_tool(const json::Value& tool, const std::string& at) {
  read_object(tool, at);
  const std::string& type = read_string(required(tool, "type", at), at + ".type");
  if (type != "function")
    throw invalid("'" + at + ".type' is '" + type + "': this server offers tools of type 'function' only",
                  at + ".type");
  const json::Value& function = required(tool, "function", at);
  const std::string here = at + ".function";
  read_object(function, here);
  check_tool_name(read_string(required(function, "name", here), here + ".name"), here + ".name");
  if (const json::Value* text = present(function, "description")) read_string(*text, here + ".description");
  if (const json::Value* schema = present(function, "parameters")) read_object(*schema, here + ".parameters");
  const json::Value* strict = present(function, "strict");
  return strict && read_bool(*strict, here + ".strict");
}

}  // namespace

// The arguments of an earlier call, as JSON text of an object. Clients replay them as the JSON string they
// got; "" and "null" stand for a call without arguments.
std::string read_arguments(const json::Value& value, const std::string& at) {
  if (value.object()) return json::write(value);
  const std::string& text = read_string(value, at);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return "{}";
  json::Value parsed;
  try {
    parsed = json::parse(text);
  } catch (const json::ParseError& error) {
    throw invalid("'" + at + "' must be JSON text of an object: " + error.what(), at);
  }
  if (parsed.is_null()) return "{}";
  if (!parsed.object())
    throw invalid(
        "'" + at + "' must be JSON text of an object, not of " + std::string(json::kind_name(parsed)), at);
  return json::write(parsed);
}

std::vector<engine::Message> read_messages(const json::Value& value) {
  const json::Array& items = read_array(value, "messages");
  if (items.empty()) throw invalid("'messages' must hold at least one message", "messages");
  std::vector<engine::Message> messages;
  messages.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    messages.push_back(read_message(items[i], element("messages", i)));
  return messages;
}

std::vector<std::string> read_tools(const json::Value& value, bool& strict) {
  const json::Array& items = read_array(value, "tools");
  if (items.size() > limits::tools)
    throw invalid("'tools' holds " + std::to_string(items.size()) + " tools; at most " +
                      std::to_string(limits::tools) + " are taken",
                  "tools");
  std::vector<std::string> tools;
  for (std::size_t i = 0; i < items.size(); ++i) {
    strict |= check_tool(items[i], element("tools", i));
    tools.push_back(json::write(items[i]));
  }
  return tools;
}

void read_template_arguments(const json::Value& value, engine::Conversation& conversation) {
  json::Object rest;
  for (const json::Member& member : read_object(value, "chat_template_kwargs")) {
    if (member.key == "enable_thinking") {
      conversation.thinking = read_bool(member.value, "chat_template_kwargs.enable_thinking");
    } else {
      rest.push_back(member);
    }
  }
  if (!rest.empty()) conversation.template_arguments = json::write(json::Value(std::move(rest)));
}

}  // namespace lockstep::daemon::openai
