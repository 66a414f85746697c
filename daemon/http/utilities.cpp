#include "daemon/http/utilities.h"

#include "daemon/anthropic/messages_request.h"
#include "daemon/limits.h"
#include "daemon/openai/chat_request.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::http {
namespace {

using json::Value;
using openai::present;

// prepare() or render() of the request's conversation.
template <typename Result>
Result of_conversation(const Service& service, const openai::Request& request,
                       Result (engine::Engine::*method)(const engine::Conversation&) const) {
  service.check_model(request.model);
  try {
    return (service.engine().*method)(request.conversation);
  } catch (const engine::RequestError& error) {
    throw openai::from_engine(error);
  }
}

engine::Prompt prepared(const Service& service, const openai::Request& request) {
  return of_conversation(service, request, &engine::Engine::prepare);
}

void check_model(const Service& service, const Value& body) {
  openai::read_object(body, "the body");
  if (const Value* model = present(body, "model")) service.check_model(openai::read_string(*model, "model"));
}

// Text in "content" (or "prompt"), or a conversation as in a chat request.
Value tokenize(const Service& service, const Value& body) {
  check_model(service, body);
  std::vector<int32_t> tokens;
  const char* field = present(body, "content") ? "content" : "prompt";
  if (present(body, "messages")) {
    tokens = prepared(service, openai::read_chat_request(body, service.default_sampling())).tokens;
  } else if (const Value* text = present(body, field)) {
    const Value* special = present(body, "parse_special");
    tokens = service.engine().tokenize(openai::read_string(*text, field),
                                       special && openai::read_bool(*special, "parse_special"));
  } else {
    throw openai::invalid("'content' is missing: the text to tokenize, or 'messages'", "content");
  }
  if (tokens.size() > limits::tokens_told)
    throw openai::invalid("these are " + std::to_string(tokens.size()) + " tokens; at most " +
                              std::to_string(limits::tokens_told) + " are told: give a part of the text",
                          field);
  json::Array list;
  for (const int32_t token : tokens) list.emplace_back(token);
  return json::Object{{"count", tokens.size()},
                      {"max_model_len", service.engine().model().context},
                      {"tokens", std::move(list)}};
}

Value detokenize(const Service& service, const Value& body) {
  check_model(service, body);
  const std::vector<int32_t> tokens = openai::read_tokens(openai::required(body, "tokens", ""), "tokens");
  for (const int32_t token : tokens)
    if (token >= service.engine().model().vocabulary)
      throw openai::invalid("'tokens' has " + std::to_string(token) + ", but the vocabulary ends at " +
                                std::to_string(service.engine().model().vocabulary - 1),
                            "tokens");
  const std::string text = service.engine().detokenize(tokens);
  return json::Object{{"content", text}, {"prompt", text}};
}

Value apply_template(const Service& service, const Value& body) {
  return json::Object{
      {"prompt", of_conversation(service, openai::read_chat_request(body, service.default_sampling()),
                                 &engine::Engine::render)}};
}

Value count_tokens(const Service& service, const Value& body) {
  const engine::Prompt prompt =
      prepared(service, anthropic::read_count_request(body, service.default_sampling()));
  return json::Object{{"input_tokens", prompt.tokens.size()}};
}

constexpr Utility all[] = {
    {"/tokenize", tokenize},
    {"/detokenize", detokenize},
    {"/apply-template", apply_template},
    {"/v1/messages/count_tokens", count_tokens},
};

}  // namespace

std::span<const Utility> utilities() { return all; }

}  // namespace lockstep::daemon::http
