#include "daemon/openai/responses_items.h"

#include "daemon/openai/conversation.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::openai {
namespace {

using json::Value;

std::string element(const std::string& at, std::size_t index) {
  return at + "[" + std::to_string(index) + "]";
}

// A string, or an array of parts of the types given.
std::string read_parts(const Value& value, const std::string& at, std::initializer_list<const char*> types) {
  if (const std::string* text = value.string()) return *text;
  const json::Array* parts = value.array();
  if (!parts) refuse_kind(value, at, "a string or an array of text parts");
  std::string joined;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const std::string here = element(at, i);
    read_object((*parts)[i], here);
    const std::string& type = read_string(required((*parts)[i], "type", here), here + ".type");
    bool known = false;
    for (const char* one : types) known |= type == one;
    if (!known)
      throw invalid("'" + here + ".type' is '" + type + "': this server reads text only", here + ".type");
    joined += read_string(required((*parts)[i], "text", here), here + ".text");
  }
  return joined;
}

json::Array one_part(const char* type, Value text) {
  json::Array parts;
  parts.emplace_back(json::Object{{"type", type}, {"text", std::move(text)}});
  return parts;
}

class Reader {
 public:
  explicit Reader(std::vector<engine::Message>& messages) : messages_(messages) {}

  void read(const Value& item, const std::string& at) {
    read_object(item, at);
    if (const Value* id = present(item, "id")) read_string(*id, at + ".id");
    const Value* type = present(item, "type");
    const std::string kind = type ? read_string(*type, at + ".type") : "message";
    if (kind == "message") {
      read_message(item, at);
    } else if (kind == "function_call") {
      engine::ToolCall call;
      call.id = read_string(required(item, "call_id", at), at + ".call_id");
      call.name = read_string(required(item, "name", at), at + ".name");
      const Value* arguments = present(item, "arguments");
      call.arguments = arguments ? read_arguments(*arguments, at + ".arguments") : "{}";
      turn().calls.push_back(std::move(call));
    } else if (kind == "function_call_output") {
      open_ = false;
      engine::Message result;
      result.role = "tool";
      result.call_id = read_string(required(item, "call_id", at), at + ".call_id");
      result.content =
          read_parts(required(item, "output", at), at + ".output", {"input_text", "output_text"});
      messages_.push_back(std::move(result));
    } else if (kind == "reasoning") {
      const Value* content = present(item, "content");
      open_ = false;
      if (content) turn().reasoning = read_parts(*content, at + ".content", {"reasoning_text"});
    } else {
      throw invalid("'" + at + ".type' is '" + kind + "': this server does not read such items",
                    at + ".type");
    }
  }

 private:
  void read_message(const Value& item, const std::string& at) {
    const std::string& role = read_string(required(item, "role", at), at + ".role");
    std::string content = read_parts(required(item, "content", at), at + ".content",
                                     {"input_text", "output_text", "text", "refusal"});
    if (role == "assistant") {
      if (open_ && (!messages_.back().content.empty() || !messages_.back().calls.empty())) open_ = false;
      turn().content = std::move(content);
      return;
    }
    if (role != "user" && role != "system" && role != "developer")
      throw invalid("'" + at + ".role' must be system, developer, user or assistant, not '" + role + "'",
                    at + ".role");
    open_ = false;
    messages_.push_back({role, std::move(content), {}, {}, {}});
  }

  // The assistant's turn that is being read.
  engine::Message& turn() {
    if (!open_) messages_.push_back({"assistant", {}, {}, {}, {}});
    open_ = true;
    return messages_.back();
  }

  std::vector<engine::Message>& messages_;
  bool open_ = false;
};

}  // namespace

void read_items(const Value& value, const std::string& at, std::vector<engine::Message>& messages) {
  if (const std::string* text = value.string()) {
    messages.push_back({"user", *text, {}, {}, {}});
    return;
  }
  const json::Array* items = value.array();
  if (!items) refuse_kind(value, at, "a string or an array of items");
  Reader reader(messages);
  for (std::size_t i = 0; i < items->size(); ++i) reader.read((*items)[i], element(at, i));
}

json::Array normal_items(const Value& input, const std::string& id) {
  json::Array items;
  if (input.string())
    items.emplace_back(json::Object{{"role", "user"}, {"content", input}});
  else if (const json::Array* given = input.array())
    items = *given;
  for (std::size_t i = 0; i < items.size(); ++i) {
    json::Object& item = *items[i].object();
    std::erase_if(item, [](const json::Member& member) { return member.value.is_null(); });
    if (!items[i].find("type")) item.insert(item.begin(), json::Member{"type", "message"});
    if (!items[i].find("id")) item.push_back({"id", "item_" + id + "_" + std::to_string(i)});
    if (*items[i].find("type")->string() != "message") continue;
    const char* part = *items[i].find("role")->string() == "assistant" ? "output_text" : "input_text";
    for (json::Member& member : item)
      if (member.key == "content" && member.value.string())
        member.value = one_part(part, std::move(member.value));
  }
  return items;
}

std::vector<std::string> read_flat_tools(const Value& value, const std::string& at, bool& strict) {
  json::Array tools;
  for (const Value& tool : read_array(value, at)) {
    const std::string here = element(at, tools.size());
    read_object(tool, here);
    const std::string& type = read_string(required(tool, "type", here), here + ".type");
    if (type != "function")
      throw invalid("'" + here + ".type' is '" + type + "': this server offers tools of type 'function' only",
                    here + ".type");
    json::Object function;
    for (const char* key : {"name", "description", "parameters", "strict"})
      if (const Value* member = present(tool, key)) function.push_back({key, *member});
    tools.emplace_back(json::Object{{"type", "function"}, {"function", std::move(function)}});
  }
  return read_tools(tools, strict);
}

}  // namespace lockstep::daemon::openai
