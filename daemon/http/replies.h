// Answers a POST that makes replies, over a connection. I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "daemon/http/endpoints.h"
#include "daemon/http/response.h"
#include "daemon/peer.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

// A connection as whoever writes a stream needs it.
class ReplyChannel {
 public:
  virtual ~ReplyChannel() = default;
  // Returns when the kernel has the bytes. Throws boost::system::system_error.
  virtual boost::asio::awaitable<void> write(std::string bytes) = 0;
  virtual Framing& framing() = 0;
  virtual void stream_begun() = 0;  // a stream's header is going out
};

struct ReplyOutcome {
  std::optional<Response> response;  // missing: a stream was sent
  std::string notes;                 // for the log: counts and times
};

// Throws ApiError before the first byte is out, PeerGone when nobody is there to be answered.
boost::asio::awaitable<ReplyOutcome> serve_replies(const Endpoint& endpoint, Service& service, Peer& peer,
                                                   ReplyChannel& channel, Ticket ticket, std::string body);

}  // namespace lockstep::daemon::http
