#include "ipc/connection.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ipc/json_writer.h"

namespace lockstep::ipc {

namespace {

[[noreturn]] void fail(const std::string& what, int number) {
  throw ConnectionError(what + ": " + std::strerror(number), number);
}

}  // namespace

Connection::Connection(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) fail(socket_path, ENAMETOOLONG);
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) fail("socket", errno);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    const int number = errno;
    ::close(descriptor_);
    fail(socket_path, number);
  }
}

Connection::~Connection() { ::close(descriptor_); }

void Connection::call(std::string_view method, std::string_view parameters, bool more) {
  JsonWriter json;
  json.begin_object().key("method").text(std::string(interface_name) + "." + std::string(method));
  json.key("parameters").raw(parameters);
  if (more) json.key("more").boolean(true);
  const std::string message = json.end_object().take();
  if (message.size() > most_message_bytes)
    throw ProtocolError("the request has " + std::to_string(message.size()) + " bytes, more than the " +
                        std::to_string(most_message_bytes >> 20) + " MiB a message may have");
  // With its NUL.
  for (std::string_view rest(message.c_str(), message.size() + 1); !rest.empty();) {
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) fail("sending the request", errno);
    if (sent > 0) rest.remove_prefix(static_cast<size_t>(sent));
  }
}

bool Connection::has_message() {
  if (!waiting_) waiting_ = frames_.next();
  return waiting_.has_value();
}

Reply Connection::receive() {
  char buffer[16384];
  while (!has_message()) {
    const ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, 0);
    if (got < 0 && errno != EINTR) fail("receiving the reply", errno);
    if (got == 0) throw ConnectionError("the daemon closed the connection before the reply was complete", 0);
    if (got > 0) frames_.push({buffer, static_cast<size_t>(got)});
  }
  const std::string message = std::move(*waiting_);
  waiting_.reset();
  return read_reply(message);
}

}  // namespace lockstep::ipc
