// What is served where.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/endpoints.h"
#include "daemon/http/response.h"
#include "daemon/http/utilities.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

struct Route {
  std::string_view name = "other";     // as in metrics: the path, without what a client may choose
  const Endpoint* endpoint = nullptr;  // one of the three: makes replies
  const Utility* utility = nullptr;    // answers a body
  Response (*answer)(Service& service, std::string_view id) = nullptr;  // has none; throws ApiError
  std::string id;                                                       // in the path
};

// HEAD counts as GET. Throws ApiError: 404, 405.
Route route_of(std::string_view method, std::string_view path);

// The path of a request's target, also of an absolute one.
std::string_view path_of(std::string_view target);

}  // namespace lockstep::daemon::http
