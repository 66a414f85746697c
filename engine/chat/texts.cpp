#include "engine/chat/texts.h"

#include <utility>

#include "engine/sampling/form/form.h"

namespace lockstep::engine {
namespace {

// Whether a prompt ends inside an open <think>, with nothing thought yet.
bool opens_reasoning(const std::string& text) {
  const size_t open = text.rfind("<think>"), closed = text.rfind("</think>");
  return open != std::string::npos && (closed == std::string::npos || closed < open) &&
         text.find_first_not_of(" \n", open + 7) == std::string::npos;
}

}  // namespace

Texts::Texts(const std::filesystem::path& directory)
    : tokenizer_(Tokenizer::load(directory)), format_(ChatFormat::load(directory)) {}

Prompt Texts::prepare(const Conversation& conversation) const {
  try {
    const MarkedText text = format_.render(conversation);
    Prompt prompt;
    prompt.tokens = tokenizer_.encode(text);
    prompt.in_reasoning = opens_reasoning(text.text);
    prompt.chat = true;
    prompt.tools = conversation.tools;
    prompt.single_call = conversation.form.single_call;
    Form form =
        compile_form(conversation.form, conversation.tools,
                     format_.calls_in_json() ? CallStyle::json : CallStyle::tagged, prompt.in_reasoning);
    prompt.form = std::move(form.grammar);
    prompt.unenforced = std::move(form.unenforced);
    return prompt;
  } catch (const FormRefused& e) {
    throw RequestError(RequestError::Kind::invalid, e.what(), e.field);
  } catch (const TemplateError& e) {
    throw RequestError(RequestError::Kind::invalid, e.what(), "messages");
  }
}

std::string Texts::render(const Conversation& conversation) const {
  try {
    return format_.render(conversation).text;
  } catch (const TemplateError& e) {
    throw RequestError(RequestError::Kind::invalid, e.what(), "messages");
  }
}

std::vector<int32_t> Texts::tokenize(std::string_view text, bool special) const {
  return tokenizer_.encode(text, special);
}

std::string Texts::detokenize(std::span<const int32_t> ids) const { return tokenizer_.decode(ids, false); }

}  // namespace lockstep::engine
