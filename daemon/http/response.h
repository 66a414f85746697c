// Responses as bytes. Bodies are JSON, except for streams.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/json/value.h"
#include "daemon/openai/error.h"

namespace lockstep::daemon::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  int status = 200;
  std::string body;
  Headers headers;
  std::string_view type = "application/json";
};

Response json_response(int status, const json::Value& body);
Response error_response(const openai::ApiError& error);

// How every response to a request is to be framed.
struct Framing {
  int version = 11;  // 10 or 11
  bool keep_alive = true;
  bool head = false;  // a HEAD request: no body follows
  Headers headers;    // besides the response's own
};

std::string to_bytes(const Response& response, const Framing& framing);

// The header of an SSE stream: chunked for HTTP/1.1, up to the connection's end for 1.0.
std::string stream_header(const Framing& framing);
std::string chunk(std::string_view data);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// One server-sent event; most have no name.
std::string event(std::string_view name, std::string_view data);

}  // namespace lockstep::daemon::http
