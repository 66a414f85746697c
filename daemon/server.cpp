#include "daemon/server.h"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/limits.h"
#include "daemon/log.h"

namespace lockstep::daemon {

namespace asio = boost::asio;

ServedConnection::ServedConnection(Server& server) : server_(server) { server_.connections_.insert(this); }
ServedConnection::~ServedConnection() { server_.connections_.erase(this); }

void Server::serve(ListeningSocket& listening, std::string when_full, std::function<void(Socket)> start) {
  const int descriptor = listening.release_descriptor();
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  const asio::generic::stream_protocol protocol(address.ss_family, 0);
  listeners_.push_back(std::make_unique<Listener>(
      Listener{{io_, protocol, descriptor}, std::move(when_full), std::move(start)}));
  asio::co_spawn(io_, accept(*listeners_.back()), asio::detached);
}

asio::awaitable<void> Server::accept(Listener& listener) {
  while (listener.acceptor.is_open()) {
    boost::system::error_code failed;
    Socket socket =
        co_await listener.acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted) co_return;
    if (!failed) {
      begin(listener, std::move(socket));
      continue;
    }
    // Out of descriptors, most likely: others must end before the next can begin.
    log_warning("a connection could not be accepted (" + failed.message() + ")");
    asio::steady_timer pause(io_, std::chrono::milliseconds(200));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  }
}

void Server::begin(Listener& listener, Socket socket) {
  if (connections_.size() < limits::connections) {
    listener.start(std::move(socket));
    return;
  }
  const std::string& answer = listener.when_full;
  send(socket.native_handle(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Server::close_listeners() {
  for (const auto& listener : listeners_) {
    boost::system::error_code ignored;
    listener->acceptor.close(ignored);
  }
}

void Server::finish_connections() {
  for (ServedConnection* connection : connections_) connection->finish();
}

void Server::close_connections() {
  for (ServedConnection* connection : connections_) connection->hang_up("the daemon stops");
}

}  // namespace lockstep::daemon
