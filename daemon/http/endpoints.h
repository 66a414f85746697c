// The endpoints that make replies: how each reads its request and shapes its replies.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "daemon/openai/fields.h"
#include "daemon/openai/reply.h"
#include "daemon/openai/shape.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

struct Endpoint {
  std::string_view path;
  // Runs on the pool. Throws ApiError.
  openai::Request (*read)(const Service& service, const json::Value& body);
  std::unique_ptr<openai::WholeShape> (*whole)(const Service&, openai::ReplyHead, const openai::Request&);
  std::unique_ptr<openai::StreamShape> (*streamed)(const Service&, openai::ReplyHead, const openai::Request&);
};

std::span<const Endpoint> endpoints();

}  // namespace lockstep::daemon::http
