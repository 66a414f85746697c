// Accepts connections of all HTTP listeners and keeps the list of them. I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>
#include <set>
#include <vector>

#include "daemon/listeners.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

class Connection;

class Server {
 public:
  explicit Server(Service& service) : service_(service) {}
  ~Server();

  // Takes the descriptor over and accepts until close_listeners().
  void serve(ListeningSocket& listening);
  void close_listeners();
  // Ends connections between two requests at once, the others after their running request.
  void finish_connections();
  void close_connections();
  std::size_t connections() const { return connections_.size(); }

 private:
  friend class Connection;
  using Protocol = boost::asio::generic::stream_protocol;
  using Acceptor = boost::asio::basic_socket_acceptor<Protocol>;

  boost::asio::awaitable<void> accept(Acceptor& acceptor, bool tcp);
  void start(Protocol::socket socket, bool tcp);

  Service& service_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::set<Connection*> connections_;
};

}  // namespace lockstep::daemon::http
