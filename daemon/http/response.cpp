#include "daemon/http/response.h"

#include <boost/beast/http/status.hpp>
#include <charconv>

namespace lockstep::daemon::http {
namespace {

std::string status_line(int status, const Framing& framing) {
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  std::string line = framing.version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  return line + std::to_string(status) + " " + std::string(reason) + "\r\nServer: lockstepd\r\n";
}

std::string lines(const Headers& headers) {
  std::string out;
  for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
  return out;
}

std::string connection_line(const Framing& framing) {
  if (!framing.keep_alive) return "Connection: close\r\n";
  return framing.version == 10 ? "Connection: keep-alive\r\n" : "";
}

}  // namespace

Response json_response(int status, const json::Value& body) {
  return {status, json::write(body) + "\n", {}, "application/json"};
}

Response error_response(const openai::ApiError& error) {
  Response response = json_response(error.status, openai::to_json(error));
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.retry_after > 0) response.headers.emplace_back("Retry-After", std::to_string(error.retry_after));
  return response;
}

std::string to_bytes(const Response& response, const Framing& framing) {
  std::string out = status_line(response.status, framing);
  out += "Content-Type: " + std::string(response.type) +
         "\r\nContent-Length: " + std::to_string(response.body.size()) + "\r\n";
  out += lines(response.headers) + lines(framing.headers) + connection_line(framing) + "\r\n";
  if (!framing.head) out += response.body;
  return out;
}

std::string stream_header(const Framing& framing) {
  std::string out = status_line(200, framing);
  out += "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n";
  if (framing.version != 10) out += "Transfer-Encoding: chunked\r\n";
  return out + lines(framing.headers) + connection_line(framing) + "\r\n";
}

std::string chunk(std::string_view data) {
  char size[16];
  std::string out(size, std::to_chars(size, size + sizeof size, data.size(), 16).ptr);
  return out.append("\r\n").append(data).append("\r\n");
}

std::string event(std::string_view name, std::string_view data) {
  std::string out;
  if (!name.empty()) out.append("event: ").append(name).append("\n");
  return out.append("data: ").append(data).append("\n\n");
}

}  // namespace lockstep::daemon::http
