#include "tests/daemon/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lockstep::test {
namespace {

// `from`: what to bind to before, or null.
int connected(const sockaddr* address, socklen_t size, const sockaddr* from = nullptr) {
  const int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (from) bind(descriptor, from, size);
  const timeval patience{10, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(descriptor, address, size) != 0) {
    ::close(descriptor);
    throw std::runtime_error(std::string("connect: ") + std::strerror(errno));
  }
  return descriptor;
}

}  // namespace

HttpClient HttpClient::tcp(int port, const char* from) {
  sockaddr_in address{}, source{};
  source.sin_family = AF_INET;
  inet_pton(AF_INET, from, &source.sin_addr);
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return HttpClient(connected(reinterpret_cast<const sockaddr*>(&address), sizeof address,
                              reinterpret_cast<const sockaddr*>(&source)));
}

HttpClient HttpClient::unix_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return HttpClient(connected(reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), held_(std::move(other.held_)) {}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void HttpClient::shut_down_writing() { shutdown(descriptor_, SHUT_WR); }

void HttpClient::send(const std::string& text) {
  if (!try_send(text)) throw std::runtime_error(std::string("send: ") + std::strerror(errno));
}

bool HttpClient::try_send(const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

void HttpClient::fill() {
  char buffer[65536];
  ssize_t count;
  do count = recv(descriptor_, buffer, sizeof buffer, 0);
  while (count < 0 && errno == EINTR);  // by a signal that stops a daemon of this process
  if (count == 0) throw std::runtime_error("closed");
  if (count < 0) throw std::runtime_error(std::string("receive: ") + std::strerror(errno));
  held_.append(buffer, static_cast<std::size_t>(count));
}

std::string HttpClient::receive_some(std::size_t most) {
  std::string out = std::exchange(held_, {});
  out.resize(std::max(most, out.size()));
  const ssize_t count = recv(descriptor_, out.data(), most, 0);
  out.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return out;
}

bool HttpClient::closed_by_server() {
  try {
    if (held_.empty()) fill();
  } catch (const std::runtime_error& error) {
    return error.what() == std::string("closed") || errno == ECONNRESET;
  }
  return false;
}

std::string HttpClient::line() {
  std::size_t end;
  while ((end = held_.find("\r\n")) == std::string::npos) fill();
  std::string out = held_.substr(0, end);
  held_.erase(0, end + 2);
  return out;
}

std::string HttpClient::bytes(std::size_t count) {
  while (held_.size() < count) fill();
  std::string out = held_.substr(0, count);
  held_.erase(0, count);
  return out;
}

HttpAnswer HttpClient::receive() {
  HttpAnswer answer;
  const std::string first = line();
  if (!first.starts_with("HTTP/1.1 ") && !first.starts_with("HTTP/1.0 "))
    throw std::runtime_error("no status line: " + first);
  answer.status = std::stoi(first.substr(9, 3));
  for (std::string field = line(); !field.empty(); field = line()) {
    const std::size_t colon = field.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("no header field: " + field);
    std::string name = field.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = field.substr(colon + 2);
  }
  if (answer.status == 100) {
    ++interim;
    return receive();
  }
  if (answer.headers.contains("transfer-encoding")) {
    for (;;) {
      const std::size_t size = std::stoul(line(), nullptr, 16);
      if (size > 0) answer.chunks.push_back(bytes(size));
      if (!line().empty()) throw std::runtime_error("a chunk is longer than it says");
      if (size == 0) break;
      answer.body += answer.chunks.back();
    }
  } else {
    answer.body = bytes(std::stoul(answer.headers.at("content-length")));
  }
  return answer;
}

HttpAnswer HttpClient::get(const std::string& path) {
  send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return receive();
}

HttpAnswer HttpClient::post(const std::string& body) {
  send(chat_request(body));
  return receive();
}

HttpAnswer HttpClient::post(const std::string& path, const std::string& body) {
  send(post_request(path, body));
  return receive();
}

std::vector<std::string> HttpAnswer::events() const {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin < body.size()) {
    const std::size_t end = body.find("\n\n", begin);
    const std::string frame = body.substr(begin, end - begin);
    if (end != std::string::npos && frame.starts_with(": ") && frame.find('\n') == std::string::npos) {
      begin = end + 2;
      continue;
    }
    if (end == std::string::npos || !frame.starts_with("data: ") || frame.find('\n') != std::string::npos)
      throw std::runtime_error("no SSE frame: " + frame);
    out.push_back(frame.substr(6));
    begin = end + 2;
  }
  return out;
}

int HttpAnswer::comments() const {
  int count = 0;
  for (std::size_t at = body.find("\n\n: "); at != std::string::npos; at = body.find("\n\n: ", at + 1))
    ++count;
  return count;
}

std::string post_request(const std::string& path, const std::string& body, const std::string& more_headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         more_headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string chat_request(const std::string& body, const std::string& more_headers) {
  return post_request("/v1/chat/completions", body, more_headers);
}

}  // namespace lockstep::test
