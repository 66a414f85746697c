// The endpoints that read a body and answer at once, without the model computing anything.
#pragma once

#include <span>
#include <string_view>

#include "daemon/http/response.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

struct Utility {
  std::string_view path;
  // Runs on the pool. Throws ApiError.
  json::Value (*answer)(const Service& service, const json::Value& body);
};

std::span<const Utility> utilities();

}  // namespace lockstep::daemon::http
