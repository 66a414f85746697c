// What a whole reply must be, as a grammar: thoughts if the prompt has begun one, then what the request asks
// for, in the words of the model's own template.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/chat/conversation.h"
#include "engine/sampling/form/grammar.h"

namespace lockstep::engine {

// How a model writes a call between <tool_call> and </tool_call>.
enum class CallStyle {
  tagged,  // <function=NAME>\n<parameter=P>\nvalue\n</parameter>\n</function>
  json,    // {"name": NAME, "arguments": {…}}
};

struct Form {
  std::shared_ptr<const Grammar> grammar;  // none: the reply is free
  std::vector<std::string> unenforced;     // keywords of schemas that it does not hold to
};

// A form that cannot be had. `field`: what is wrong, "schema", "tools" or "functions".
struct FormRefused : FormError {
  std::string field;
  FormRefused(const std::string& text, std::string f) : FormError(text), field(std::move(f)) {}
};

// `tools`: as in Conversation. Throws FormRefused.
Form compile_form(const ReplyForm&, const std::vector<std::string>& tools, CallStyle, bool in_reasoning);

}  // namespace lockstep::engine
