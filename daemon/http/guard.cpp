#include "daemon/http/guard.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "daemon/openai/error.h"

namespace lockstep::daemon::http {
namespace {

// "localhost", "127.x.y.z", "[::1]", each with or without a port.
bool is_loopback(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket))
    authority = authority.substr(0, colon);
  const auto digit_or_dot = [](unsigned char c) { return std::isdigit(c) || c == '.'; };
  if (authority.starts_with("127.")) return std::all_of(authority.begin(), authority.end(), digit_or_dot);
  std::string name(authority);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name == "localhost" || name == "[::1]";
}

bool is_loopback_origin(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && is_loopback(origin.substr(scheme + 3));
}

openai::ApiError forbidden(const std::string& message, std::string code) {
  return {403, "invalid_request_error", message, {}, std::move(code)};
}

}  // namespace

void refuse_web_pages(std::string_view host, std::string_view origin) {
  if (!host.empty() && !is_loopback(host))
    throw forbidden("the request names the host '" + std::string(host) +
                        "'; this server answers to localhost, 127.0.0.1 "
                        "and [::1] only",
                    "host_not_allowed");
  if (!origin.empty() && !is_loopback_origin(origin))
    throw forbidden("requests from web pages of '" + std::string(origin) + "' are not served",
                    "origin_not_allowed");
}

}  // namespace lockstep::daemon::http
