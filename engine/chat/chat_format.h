// How a model writes conversations down (its chat template) and how its replies are read back.
// Threads: const members may be called from any thread; a ReplyParser belongs to one reply.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/conversation.h"
#include "engine/tokenizer/marked_text.h"

namespace lockstep::engine {

// The template cannot be read or compiled (at load), or it refuses a conversation (at render): what() is
// the template's own message, or names the construct and line.
struct TemplateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ChatFormat {
 public:
  // Reads chat_template.jinja, else chat_template of tokenizer_config.json, and the tokens that
  // tokenizer_config.json names (bos_token, eos_token, ...).
  static ChatFormat load(const std::filesystem::path& directory);
  ChatFormat(ChatFormat&&) noexcept;
  ~ChatFormat();

  // The prompt, up to where the assistant's reply begins. Throws TemplateError, also for a call's arguments,
  // a tool or template_arguments that are no JSON object. Texts of the conversation are data, the tokens
  // above are the template's. Limits: language/fault.h. Needs up to 2 MiB of stack.
  MarkedText render(const Conversation& conversation) const;
  // Whether the template writes a call's arguments as JSON, not between tags.
  bool calls_in_json() const;

 private:
  struct State;
  explicit ChatFormat(std::unique_ptr<State>);
  bool writes_json_calls() const;
  std::unique_ptr<State> state_;
};

// A piece of a reply as it becomes known.
struct ReplyPiece {
  enum class Kind { reasoning, content, call_begin, call_arguments } kind;
  std::string text;  // reasoning, content: text; call_begin: the function's name; call_arguments: JSON text
  int call = 0;      // index of the call, for call_begin and call_arguments
};

// Splits a reply's text into reasoning, content and tool calls.
//
// Reasoning goes up to </think>; a reply may also open it itself with <think>. Line ends around reasoning,
// before a call and behind it belong to none of them, so that content starts clean. Calls are written
//   <tool_call><function=NAME><parameter=P>\nvalue\n</parameter>...</function></tool_call>   or
//   <tool_call>{"name": ..., "arguments": {...}}</tool_call>
// The tools' schemas say which values of the first form become numbers, booleans, null, arrays or objects;
// what does not fit stays a string. Arguments are always a valid JSON object. A call is given out once it is
// complete; what turns out to be no call is content. Pieces of a kind joined over a stream equal those of the
// whole text.
class ReplyParser {
 public:
  // in_reasoning: the prompt ended inside an open <think>. tools: as in Conversation, they give the
  // arguments' types; without tools nothing is read as a call.
  ReplyParser(bool in_reasoning, std::vector<std::string> tools);
  ~ReplyParser();

  std::vector<ReplyPiece> push(std::string_view text);
  std::vector<ReplyPiece> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::engine
