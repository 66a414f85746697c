// What goes wrong with a request, in OpenAI's words.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "daemon/json/value.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

// what() is the message, one printable line: it may repeat what the client sent. A status of 400 to 499 is
// the client's doing, 500 and up the server's.
struct ApiError : std::runtime_error {
  int status;
  std::string type;     // "invalid_request_error", "server_error", …
  std::string param;    // the part of the request that is wrong, or empty
  std::string code;     // a word for programs, or empty
  int retry_after = 0;  // seconds after which the same request may succeed; 0: not said

  ApiError(int http_status, std::string error_type, const std::string& message,
           const std::string& wrong_param = {}, std::string error_code = {}, int retry_seconds = 0);
};

ApiError invalid(const std::string& message, const std::string& param = {}, std::string code = {});
// 503 with Retry-After: the request may be sent again.
ApiError unavailable(const std::string& message, std::string code, int retry_seconds);
ApiError too_many(const std::string& message, std::string code);
ApiError cancelled(const std::string& message);  // by its user; not to be sent again
ApiError from_engine(const engine::RequestError& error);

// {"error": {"message", "type", "param", "code"}}
json::Value to_json(const ApiError& error);

}  // namespace lockstep::daemon::openai
