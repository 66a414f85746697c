#include "daemon/http/endpoints.h"

#include "daemon/anthropic/messages_reply.h"
#include "daemon/anthropic/messages_request.h"
#include "daemon/openai/chat_request.h"
#include "daemon/openai/completion_reply.h"
#include "daemon/openai/completion_request.h"
#include "daemon/openai/responses_reply.h"
#include "daemon/openai/responses_request.h"

namespace lockstep::daemon::http {
namespace {

using openai::ReplyHead;
using openai::Request;

// The texts of the prompts, if the replies are to begin with them.
std::vector<std::string> echoes(const Service& service, const Request& request) {
  std::vector<std::string> out;
  for (const openai::TextPrompt& text : request.texts) {
    if (!request.echo) break;
    const auto* tokens = std::get_if<std::vector<int32_t>>(&text);
    out.push_back(tokens ? service.engine().detokenize(*tokens) : std::get<std::string>(text));
  }
  return out;
}

constexpr Endpoint all[] = {
    {"/v1/chat/completions",
     [](Service& service, const json::Value& body) {
       return openai::read_chat_request(body, service.default_sampling());
     },
     [](Service&, ReplyHead head, const Request&) -> std::unique_ptr<openai::WholeShape> {
       return std::make_unique<openai::WholeChat>(std::move(head));
     },
     [](Service&, ReplyHead head, const Request&) -> std::unique_ptr<openai::StreamShape> {
       return std::make_unique<openai::StreamedChat>(std::move(head));
     }},
    {"/v1/completions",
     [](Service& service, const json::Value& body) {
       return openai::read_completion_request(body, service.default_sampling());
     },
     [](Service& service, ReplyHead head, const Request& request) -> std::unique_ptr<openai::WholeShape> {
       return std::make_unique<openai::WholeCompletion>(std::move(head), echoes(service, request));
     },
     [](Service& service, ReplyHead head, const Request& request) -> std::unique_ptr<openai::StreamShape> {
       return std::make_unique<openai::StreamedCompletion>(std::move(head), echoes(service, request));
     }},
    {"/v1/responses",
     [](Service& service, const json::Value& body) {
       return openai::read_responses_request(body, service.default_sampling(), service.responses());
     },
     [](Service& service, ReplyHead head, const Request& request) -> std::unique_ptr<openai::WholeShape> {
       return std::make_unique<openai::WholeResponse>(std::move(head), request, service.responses());
     },
     [](Service& service, ReplyHead head, const Request& request) -> std::unique_ptr<openai::StreamShape> {
       return std::make_unique<openai::StreamedResponse>(std::move(head), request, service.responses());
     }},
    {"/v1/messages",
     [](Service& service, const json::Value& body) {
       return anthropic::read_messages_request(body, service.default_sampling());
     },
     [](Service&, ReplyHead head, const Request&) -> std::unique_ptr<openai::WholeShape> {
       return std::make_unique<anthropic::WholeMessage>(std::move(head));
     },
     [](Service&, ReplyHead head, const Request&) -> std::unique_ptr<openai::StreamShape> {
       return std::make_unique<anthropic::StreamedMessage>(std::move(head));
     }},
};

}  // namespace

Response anthropic_error_response(const openai::ApiError& error) {
  Response response = error_response(error);
  response.body = json::write(anthropic::error_json(error)) + "\n";
  return response;
}

std::span<const Endpoint> endpoints() { return all; }

}  // namespace lockstep::daemon::http
