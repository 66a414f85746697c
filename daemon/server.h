// Accepts connections on all listeners and keeps the list of them. I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
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
  ServedConnection(Server& server, const Socket& socket);
  ~ServedConnection() override;
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  // No further request after the one in work; closes at once if there is none.
  virtual void finish() = 0;

  const Caller& caller() const override { return caller_; }
  const std::shared_ptr<Account>& account() const { return account_; }

 protected:
  // Waiting for a request, not at work on one: may be closed to make place.
  void set_idle(bool idle);
  bool idle() const { return idle_since_.has_value(); }

 private:
  friend class Server;
  Server& server_;
  const Caller caller_;
  const std::shared_ptr<Account> account_;
  const std::string address_;
  std::optional<std::chrono::steady_clock::time_point> idle_since_;
};

class Server {
 public:
  Server(boost::asio::any_io_executor io, Accounts& accounts) : io_(std::move(io)), accounts_(accounts) {}

  // Takes the descriptor over and accepts until close_listeners(). `start` gets each new connection. When
  // limits::connections are open, or as many as a user or an address may have, the one that has been idle
  // longest is closed for a new one, of the user who has the most; when none is idle, the new one is sent
  // `when_full` and closed.
  void serve(ListeningSocket& listening, std::string when_full, std::function<void(Socket)> start);

  void close_listeners();
  void finish_connections();
  void close_connections();
  std::size_t connections() const { return connections_.size(); }
  std::size_t busy() const;  // connections that are not idle

 private:
  friend class ServedConnection;
  struct Listener {
    boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol> acceptor;
    std::string when_full;
    std::function<void(Socket)> start;
  };

  boost::asio::awaitable<void> accept(Listener& listener);
  void begin(Listener& listener, Socket socket);
  bool make_place(const Account& newcomer, const std::string& crowded_address);

  boost::asio::any_io_executor io_;
  Accounts& accounts_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::set<ServedConnection*> connections_;
};

}  // namespace lockstep::daemon
