#include "daemon/openai/error.h"

#include "daemon/limits.h"
#include "daemon/printable.h"

namespace lockstep::daemon::openai {

ApiError::ApiError(int http_status, std::string error_type, const std::string& message,
                   const std::string& wrong_param, std::string error_code, int retry_seconds)
    : std::runtime_error(printable(message, limits::error_bytes)),
      status(http_status),
      type(std::move(error_type)),
      param(printable(wrong_param, limits::error_bytes)),
      code(std::move(error_code)),
      retry_after(retry_seconds) {}

ApiError invalid(const std::string& message, const std::string& param, std::string code) {
  return {400, "invalid_request_error", message, param, std::move(code)};
}

ApiError unavailable(const std::string& message, std::string code, int retry_seconds) {
  return {503, "server_error", message, {}, std::move(code), retry_seconds};
}

ApiError too_many(const std::string& message, std::string code) {
  return {429, "rate_limit_error", message, {}, std::move(code), 1};
}

ApiError cancelled(const std::string& message) { return invalid(message, {}, "request_cancelled"); }

ApiError from_engine(const engine::RequestError& error) {
  const auto param = [](const std::string& field) -> std::string {
    if (field == "schema") return "response_format";
    return field == "functions" ? "tool_choice" : field;
  };
  using Kind = engine::RequestError::Kind;
  switch (error.kind) {
    case Kind::invalid: return invalid(error.what(), param(error.field));
    case Kind::context_overflow: return invalid(error.what(), "messages", "context_length_exceeded");
    case Kind::busy: return too_many(error.what(), "queue_full");
    case Kind::cancelled: return unavailable(error.what(), "cancelled", 1);
    case Kind::failed: break;
  }
  return {500, "server_error", error.what(), {}, "engine_failed"};
}

json::Value to_json(const ApiError& error) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? json::Value() : json::Value(text);
  };
  json::Object body{{"message", error.what()},
                    {"type", error.type},
                    {"param", or_null(error.param)},
                    {"code", or_null(error.code)}};
  return json::Object{{"error", std::move(body)}};
}

}  // namespace lockstep::daemon::openai
