#include "daemon/http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/http/connection.h"
#include "daemon/limits.h"
#include "daemon/log.h"

namespace lockstep::daemon::http {

namespace asio = boost::asio;

Server::~Server() = default;

void Server::serve(ListeningSocket& listening) {
  const bool tcp = listening.kind() == ListeningSocket::Kind::tcp;
  const int descriptor = listening.release_descriptor();
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  const Protocol protocol(address.ss_family, 0);
  acceptors_.push_back(std::make_unique<Acceptor>(service_.io(), protocol, descriptor));
  asio::co_spawn(service_.io(), accept(*acceptors_.back(), tcp), asio::detached);
}

asio::awaitable<void> Server::accept(Acceptor& acceptor, bool tcp) {
  for (;;) {
    boost::system::error_code failed;
    Protocol::socket socket =
        co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted) co_return;
    if (!failed) {
      start(std::move(socket), tcp);
      continue;
    }
    // Out of descriptors, most likely: others must end before the next can begin.
    log_warning("a connection could not be accepted (" + failed.message() + ")");
    asio::steady_timer pause(service_.io(), std::chrono::milliseconds(200));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  }
}

void Server::start(Protocol::socket socket, bool tcp) {
  if (connections_.size() >= limits::connections) {
    const Response response =
        error_response(openai::unavailable("too many connections are open", "too_many_connections", 1));
    Framing framing;
    framing.keep_alive = false;
    const std::string bytes = to_bytes(response, framing);
    send(socket.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  if (tcp) {
    const int on = 1;
    setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  auto connection = std::make_shared<Connection>(*this, service_, std::move(socket), tcp);
  asio::co_spawn(service_.io(), Connection::run(std::move(connection)), asio::detached);
}

void Server::close_listeners() {
  for (const auto& acceptor : acceptors_) {
    boost::system::error_code ignored;
    acceptor->close(ignored);
  }
}

void Server::finish_connections() {
  for (Connection* connection : connections_) connection->finish();
}

void Server::close_connections() {
  for (Connection* connection : connections_) connection->hang_up();
}

}  // namespace lockstep::daemon::http
