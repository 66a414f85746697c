// Shared by the chat tests: files, conversations and marks.
#pragma once

#include <filesystem>
#include <string>

#include "engine/chat/chat_format.h"
#include "engine/chat/language/json.h"
#include "engine/chat/language/template.h"
#include "tests/tools/temporary_directory.h"

namespace lockstep::engine::golden {

inline const std::filesystem::path source = LOCKSTEP_SOURCE_DIR;
inline const std::filesystem::path data = source / "tests/data/templates";
inline const std::filesystem::path starter = source / "packaging/starter";

inline std::string read(const std::filesystem::path& path) { return tools::read_file(path); }

inline language::Value json(const std::string& text) {
  language::Meter meter;
  return language::parse_json(text, meter);
}

inline std::string text_of(const language::Value* value) {
  return value && value->is(language::Kind::string) ? value->text().text : std::string();
}

// The text a template gives, or "refused: ..." with its error.
inline std::string render(const std::string& source_text, const language::Dict& variables) {
  try {
    return language::Template::parse(source_text).render(variables).text;
  } catch (const TemplateError& error) {
    return "refused: " + std::string(error.what());
  }
}

// The text with [ and ] around what is data.
inline std::string marked(const MarkedText& text) {
  std::string shown;
  size_t at = 0;
  for (const MarkedText::Run& run : text.runs) {
    const std::string part = text.text.substr(at, run.bytes);
    shown += run.data ? "[" + part + "]" : part;
    at += run.bytes;
  }
  return at == text.text.size() ? shown : "the runs do not add up";
}

inline Message message(const std::string& role, const std::string& content) {
  Message made;
  made.role = role;
  made.content = content;
  return made;
}

// A conversation as tests/data writes it.
inline Conversation conversation(const language::Dict& from) {
  language::Meter meter;
  Conversation made;
  for (const language::Value& value : from.find("messages")->items()) {
    const language::Dict& entry = value.dict();
    Message next = message(text_of(entry.find("role")), text_of(entry.find("content")));
    if (const auto* reasoning = entry.find("reasoning")) next.reasoning = text_of(reasoning);
    next.call_id = text_of(entry.find("call_id"));
    if (const auto* calls = entry.find("calls"))
      for (const language::Value& call : calls->items())
        next.calls.push_back({text_of(call.dict().find("id")), text_of(call.dict().find("name")),
                              text_of(call.dict().find("arguments"))});
    made.messages.push_back(next);
  }
  if (const auto* tools = from.find("tools"); tools && tools->is(language::Kind::list))
    for (const language::Value& tool : tools->items())
      made.tools.push_back(language::dump_json(tool, {}, meter).text);
  if (const auto* thinking = from.find("thinking")) made.thinking = language::truth(*thinking);
  if (const auto* thinking = from.find("enable_thinking")) made.thinking = language::truth(*thinking);
  return made;
}

}  // namespace lockstep::engine::golden
