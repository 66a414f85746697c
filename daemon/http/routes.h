// What is served where.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/response.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

// GET /live, /health, /v1/models, /v1/models/{id}; POST /v1/chat/completions. True for the last one, which
// the caller answers itself. Throws ApiError (404, 405) for any other target or method; HEAD counts as GET.
bool is_chat(std::string_view method, std::string_view path);

// Answers a GET that is_chat() let pass. Throws ApiError.
Response answer_get(const Service& service, std::string_view path);

// The path of a request's target, also of an absolute one.
std::string_view path_of(std::string_view target);

}  // namespace lockstep::daemon::http
