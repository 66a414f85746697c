#include "daemon/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/limits.h"
#include "daemon/log.h"

namespace lockstep::daemon {

namespace asio = boost::asio;

ServedConnection::ServedConnection(Server& server, const Socket& socket)
    : server_(server),
      caller_(caller_of(const_cast<Socket&>(socket).native_handle())),
      account_(server.accounts_.of(caller_.uid)),
      address_(address_of(const_cast<Socket&>(socket).native_handle())) {
  server_.connections_.insert(this);
  ++account_->connections;
}

ServedConnection::~ServedConnection() {
  server_.connections_.erase(this);
  --account_->connections;
}

void ServedConnection::set_idle(bool idle) {
  idle_since_.reset();
  if (idle) idle_since_ = std::chrono::steady_clock::now();
}

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
  const std::shared_ptr<Account> account = accounts_.of(caller_of(socket.native_handle()).uid);
  std::string address = address_of(socket.native_handle());
  if (address.empty() ||
      std::ranges::count(connections_, address, &ServedConnection::address_) < limits::address_connections)
    address.clear();
  const bool place = connections_.size() < limits::connections &&
                     account->connections < limits::user_connections && address.empty();
  if (place || make_place(*account, address)) {
    listener.start(std::move(socket));
    return;
  }
  const std::string& answer = listener.when_full;
  send(socket.native_handle(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// A connection that is closed goes in a moment; until then it is not idle any more and counts still.
// `crowded_address`: that of the newcomer, if it has as many as it may; else empty.
bool Server::make_place(const Account& newcomer, const std::string& crowded_address) {
  const bool own = newcomer.connections >= limits::user_connections;
  ServedConnection* longest = nullptr;
  const auto before = [own](const ServedConnection& a, const ServedConnection& b) {
    const int more = own ? 0 : a.account()->connections - b.account()->connections;
    return more != 0 ? more > 0 : a.idle_since_ < b.idle_since_;
  };
  for (ServedConnection* connection : connections_) {
    if (!connection->idle() || (own && connection->account().get() != &newcomer)) continue;
    if (!crowded_address.empty() && connection->address_ != crowded_address) continue;
    if (!longest || before(*connection, *longest)) longest = connection;
  }
  if (!longest) return false;
  longest->set_idle(false);
  longest->hang_up("others need its place");
  return true;
}

std::size_t Server::busy() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const ServedConnection* each) { return !each->idle(); }));
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
