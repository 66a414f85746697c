// What is served where.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/http/endpoints.h"
#include "daemon/http/response.h"
#include "daemon/http/utilities.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

// What a target says besides its path: the id in it, and what is behind its '?'.
struct Asked {
  std::string id, query;
};

// What is answered at once. A path that ends with '/' has an id behind it.
struct Answer {
  std::string_view method, path;
  Response (*answer)(Service& service, const Asked& asked);  // throws ApiError
};
std::span<const Answer> answers();

struct Route {
  std::string_view name = "other";     // as in metrics: the path, without what a client may choose
  const Endpoint* endpoint = nullptr;  // one of the three: makes replies
  const Utility* utility = nullptr;    // answers a body
  Response (*answer)(Service& service, const Asked& asked) = nullptr;  // has none; throws ApiError
  Asked asked;
};

// HEAD counts as GET. Throws ApiError: 404, 405.
Route route_of(std::string_view method, std::string_view target);

// In the shape that clients of the path read, whatever is there.
Response error_response_at(std::string_view path, const openai::ApiError& error);

// The path of a request's target, also of an absolute one.
std::string_view path_of(std::string_view target);

}  // namespace lockstep::daemon::http
