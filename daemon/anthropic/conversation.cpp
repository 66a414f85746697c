#include "daemon/anthropic/conversation.h"

#include "daemon/openai/conversation.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::anthropic {
namespace {

using json::Value;
using openai::invalid;
using openai::present;
using openai::read_array;
using openai::read_object;
using openai::read_string;
using openai::required;

std::string element(const std::string& at, std::size_t index) {
  return at + "[" + std::to_string(index) + "]";
}

[[noreturn]] void refuse_block(const std::string& type, const std::string& at) {
  throw invalid("'" + at + ".type' is '" + type + "': this server does not read such blocks", at + ".type");
}

const std::string& type_of(const Value& block, const std::string& at) {
  read_object(block, at);
  return read_string(required(block, "type", at), at + ".type");
}

std::string text_of(const Value& block, const std::string& at) {
  return read_string(required(block, "text", at), at + ".text");
}

// A user's blocks: texts and results of tools.
void read_user(const json::Array& blocks, const std::string& at, std::vector<engine::Message>& messages) {
  engine::Message said;
  said.role = "user";
  bool texts = false;
  const auto flush = [&] {
    if (texts) messages.push_back(said);
    said.content.clear();
    texts = false;
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string here = element(at, i);
    const std::string& type = type_of(blocks[i], here);
    if (type == "text") {
      said.content += text_of(blocks[i], here);
      texts = true;
    } else if (type == "tool_result") {
      flush();
      engine::Message result;
      result.role = "tool";
      result.call_id = read_string(required(blocks[i], "tool_use_id", here), here + ".tool_use_id");
      if (const Value* content = present(blocks[i], "content"))
        result.content = read_text(*content, here + ".content");
      messages.push_back(std::move(result));
    } else {
      refuse_block(type, here);
    }
  }
  flush();
}

// An assistant's blocks: text, thoughts and calls. Thoughts that are redacted cannot be read and are left
// out.
void read_assistant(const json::Array& blocks, const std::string& at,
                    std::vector<engine::Message>& messages) {
  engine::Message said;
  said.role = "assistant";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string here = element(at, i);
    const std::string& type = type_of(blocks[i], here);
    if (type == "text") {
      said.content += text_of(blocks[i], here);
    } else if (type == "thinking") {
      said.reasoning = said.reasoning.value_or("") +
                       read_string(required(blocks[i], "thinking", here), here + ".thinking");
    } else if (type == "tool_use") {
      const Value& input = required(blocks[i], "input", here);
      read_object(input, here + ".input");
      said.calls.push_back({read_string(required(blocks[i], "id", here), here + ".id"),
                            read_string(required(blocks[i], "name", here), here + ".name"),
                            json::write(input)});
    } else if (type != "redacted_thinking") {
      refuse_block(type, here);
    }
  }
  messages.push_back(std::move(said));
}

}  // namespace

std::string read_text(const Value& value, const std::string& at) {
  if (const std::string* text = value.string()) return *text;
  const json::Array* blocks = value.array();
  if (!blocks) openai::refuse_kind(value, at, "a string or an array of text blocks");
  std::string joined;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const std::string here = element(at, i);
    const std::string& type = type_of((*blocks)[i], here);
    if (type != "text") refuse_block(type, here);
    joined += text_of((*blocks)[i], here);
  }
  return joined;
}

void read_messages(const Value& value, const std::string& at, std::vector<engine::Message>& messages) {
  const json::Array& items = read_array(value, at);
  if (items.empty()) throw invalid("'messages' must hold at least one message", at);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string here = element(at, i);
    read_object(items[i], here);
    const std::string& role = read_string(required(items[i], "role", here), here + ".role");
    if (role != "user" && role != "assistant")
      throw invalid("'" + here + ".role' must be user or assistant, not '" + role + "'", here + ".role");
    if (role == "assistant" && i + 1 == items.size())
      throw invalid("the last message must be a user's: this server does not go on from an assistant's",
                    here + ".role");
    const Value& content = required(items[i], "content", here);
    json::Array one;
    const json::Array* blocks = content.array();
    if (content.string()) {
      one.emplace_back(json::Object{{"type", "text"}, {"text", content}});
      blocks = &one;
    }
    if (!blocks) openai::refuse_kind(content, here + ".content", "a string or an array of blocks");
    (role == "user" ? read_user : read_assistant)(*blocks, here + ".content", messages);
  }
}

std::vector<std::string> read_tools(const Value& value, const std::string& at, bool& strict) {
  json::Array tools;
  for (const Value& tool : read_array(value, at)) {
    const std::string here = element(at, tools.size());
    read_object(tool, here);
    if (const Value* type = present(tool, "type"); type && read_string(*type, here + ".type") != "custom")
      throw invalid("'" + here + ".type' is '" + *type->string() + "': this server offers custom tools only",
                    here + ".type");
    json::Object function{{"name", required(tool, "name", here)}};
    if (const Value* text = present(tool, "description")) function.push_back({"description", *text});
    const Value& schema = required(tool, "input_schema", here);
    read_object(schema, here + ".input_schema");
    function.push_back({"parameters", schema});
    if (const Value* held = present(tool, "strict")) function.push_back({"strict", *held});
    tools.emplace_back(json::Object{{"type", "function"}, {"function", std::move(function)}});
  }
  return openai::read_tools(tools, strict);
}

}  // namespace lockstep::daemon::anthropic
