// An HTTP client of a few lines over a raw socket: sends the bytes it is told and checks the framing of
// what comes back.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/json/value.h"

namespace lockstep::test {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
  std::vector<std::string> chunks;
  daemon::json::Value json() const { return daemon::json::parse(body); }
  // Of an SSE body: what follows "data: "; comments are counted. Fails the test if a frame is anything else.
  std::vector<std::string> events() const;
  int comments() const;
};

class HttpClient {
 public:
  static HttpClient tcp(int port, const char* from = "127.0.0.1");  // an address of this machine
  static HttpClient unix_socket(const std::string& path);
  HttpClient(HttpClient&& other) noexcept;
  ~HttpClient();

  void send(const std::string& bytes);
  bool try_send(const std::string& bytes);
  // Reads one response, or throws std::runtime_error: closed, malformed, or nothing for 10 seconds.
  // Interim responses are counted and skipped.
  HttpAnswer receive();
  std::string receive_some(std::size_t most);  // raw; empty: closed
  bool closed_by_server();                     // waits for the end, nothing else may come
  void shut_down_writing();
  void close();
  int descriptor() const { return descriptor_; }

  HttpAnswer get(const std::string& path);
  HttpAnswer post(const std::string& body);  // a chat request
  HttpAnswer post(const std::string& path, const std::string& body);

  int interim = 0;

 private:
  explicit HttpClient(int descriptor) : descriptor_(descriptor) {}
  void fill();
  std::string line();
  std::string bytes(std::size_t count);

  int descriptor_;
  std::string held_;
};

std::string post_request(const std::string& path, const std::string& body,
                         const std::string& more_headers = {});
std::string chat_request(const std::string& body, const std::string& more_headers = {});

}  // namespace lockstep::test
