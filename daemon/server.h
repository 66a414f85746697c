// Accepts connections on all listeners and keeps the list of them. I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/listeners.h"
#include "daemon/peer.h"

namespace lockstep::daemon {

using Socket = boost::asio::generic::stream_protocol::socket;

class Server;

// A connection in the server's list, for as long as it lives.
class ServedConnection : public Peer {
 public:
  explicit ServedConnection(Server& server);
  ~ServedConnection() override;
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  // No further request after the one in work; closes at once if there is none.
  virtual void finish() = 0;

 private:
  Server& server_;
};

class Server {
 public:
  explicit Server(boost::asio::any_io_executor io) : io_(std::move(io)) {}

  // Takes the descriptor over and accepts until close_listeners(). `start` gets each new connection; when
  // limits::connections are open a new one is sent `when_full` and closed.
  void serve(ListeningSocket& listening, std::string when_full, std::function<void(Socket)> start);

  void close_listeners();
  void finish_connections();
  void close_connections();
  std::size_t connections() const { return connections_.size(); }

 private:
  friend class ServedConnection;
  struct Listener {
    boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol> acceptor;
    std::string when_full;
    std::function<void(Socket)> start;
  };

  boost::asio::awaitable<void> accept(Listener& listener);
  void begin(Listener& listener, Socket socket);

  boost::asio::any_io_executor io_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::set<ServedConnection*> connections_;
};

}  // namespace lockstep::daemon
