#include "daemon/http/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "daemon/events.h"
#include "daemon/log.h"
#include "daemon/openai/error.h"

namespace lockstep::daemon::http {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// Of "name:port" or "[address]:port".
std::string name_of(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket))
    authority = authority.substr(0, colon);
  return lower(authority);
}

bool is_loopback(const std::string& name) {
  in_addr v4{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return name == "localhost" || name == "[::1]";
}

bool is_address(const std::string& name) {
  in6_addr v6{};
  in_addr v4{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return true;
  return name.size() > 2 && name.front() == '[' && name.back() == ']' &&
         inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &v6) == 1;
}

bool is_loopback_origin(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && is_loopback(name_of(origin.substr(scheme + 3)));
}

openai::ApiError forbidden(const std::string& message, std::string code) {
  return {403, "invalid_request_error", message, {}, std::move(code)};
}

openai::ApiError unauthorized(const std::string& message) {
  return {401, "authentication_error", message, {}, "invalid_api_key"};
}

bool needs_key(std::string_view path) { return path != "/live" && path != "/health"; }

std::string_view key_of(const Credentials& credentials) {
  constexpr std::string_view scheme = "bearer ";
  const std::string_view field = credentials.authorization;
  if (lower(field.substr(0, scheme.size())) != scheme) return credentials.api_key;
  const std::string_view key = field.substr(scheme.size());
  return key.substr(std::min(key.find_first_not_of(' '), key.size()));
}

}  // namespace

Guard::Guard(const Configuration& configuration) : configuration_(configuration) {
  if (!configuration.api_keys.empty()) {
    file_ = configuration.api_keys;
  } else if (const char* credentials = std::getenv("CREDENTIALS_DIRECTORY")) {
    const std::filesystem::path passed = std::filesystem::path(credentials) / "api-keys";
    std::error_code ignored;
    if (std::filesystem::exists(passed, ignored)) file_ = passed;
  }
  if (!file_.empty()) keys_ = Keys::read(file_);
}

void Guard::reload() {
  if (file_.empty()) return;
  try {
    keys_ = Keys::read(file_);
    log_info("API keys: " + std::to_string(keys_->size()) + " from " + file_.string());
  } catch (const StartFailure& failure) {
    log_event(Event::api_keys, std::string(failure.what()) + "; the keys known before stay");
  }
}

Admission Guard::admit_preflight(const Credentials& credentials) const {
  const std::string host = name_of(credentials.host);
  const std::vector<std::string>& hosts = configuration_.allowed_hosts;
  if (!host.empty() && host != "localhost" && !is_address(host) &&
      std::find(hosts.begin(), hosts.end(), host) == hosts.end())
    throw forbidden("the request names the host '" + std::string(credentials.host) +
                        "'; this server answers to addresses, localhost and the names in allowed_hosts",
                    "host_not_allowed");
  const std::vector<std::string>& origins = configuration_.allowed_origins;
  const std::string origin(credentials.origin);
  if (!origin.empty() && !is_loopback_origin(origin) &&
      std::find(origins.begin(), origins.end(), origin) == origins.end())
    throw forbidden("requests from web pages of '" + origin + "' are not served; allowed_origins can name it",
                    "origin_not_allowed");
  return {{}, origin};
}

Admission Guard::admit(const Credentials& credentials) const {
  Admission admission = admit_preflight(credentials);
  if (!keys_ || !needs_key(credentials.path)) return admission;
  const std::string_view key = key_of(credentials);
  if (key.empty()) throw unauthorized("an API key is needed: send it as 'Authorization: Bearer KEY'");
  std::optional<std::string> label = keys_->label_of(key);
  if (!label) throw unauthorized("the API key is not known here");
  admission.label = *std::move(label);
  return admission;
}

}  // namespace lockstep::daemon::http
