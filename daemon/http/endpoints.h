// The endpoints that make replies: how each reads its request and shapes its replies.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "daemon/http/response.h"
#include "daemon/openai/fields.h"
#include "daemon/openai/reply.h"
#include "daemon/openai/shape.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

struct Endpoint {
  std::string_view path;
  // Runs on the pool. Throws ApiError.
  openai::Request (*read)(Service& service, const json::Value& body);
  std::unique_ptr<openai::WholeShape> (*whole)(Service&, openai::ReplyHead, const openai::Request&);
  std::unique_ptr<openai::StreamShape> (*streamed)(Service&, openai::ReplyHead, const openai::Request&);
};

std::span<const Endpoint> endpoints();

// An error as Anthropic's clients read it.
Response anthropic_error_response(const openai::ApiError& error);

}  // namespace lockstep::daemon::http
