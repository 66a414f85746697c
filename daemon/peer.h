// The other end of a connection, as far as a running request must know it. I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <stdexcept>
#include <string>

#include "daemon/accounts.h"

namespace lockstep::daemon {

// Thrown out of whatever waits for a client that has left: nothing can be answered any more.
struct PeerGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class PeerState {
  present,
  half_closed,  // it will send no more, but may still read; a TCP client that has left looks the same
  gone,
};

// Asks the kernel about a connected socket, without reading from it.
PeerState look_at_socket(int descriptor);

Caller caller_of(int descriptor);

// Of the other end, without the port; empty: a Unix socket.
std::string address_of(int descriptor);
// "127.0.0.1:50312", or "uid=1000 pid=77" of a Unix socket.
std::string describe_peer(int descriptor);

class Peer {
 public:
  virtual ~Peer() = default;
  virtual const Caller& caller() const = 0;
  virtual PeerState look() = 0;
  // Sends something that a half-closed client ignores and the kernel of one that has left answers with a
  // reset, which look() then sees.
  virtual boost::asio::awaitable<void> probe() = 0;
  // Ends the connection at once, also under a pending write. `why` is for the log.
  virtual void hang_up(const std::string& why) = 0;
};

}  // namespace lockstep::daemon
