// One HTTP connection: reads requests in turn, answers each before it reads the next. I/O thread.
//
// A request that is refused before its body was read has its body drained if it is short; else the
// connection is closed with "Connection: close". So the next request is never mistaken for a body.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "daemon/http/guard.h"
#include "daemon/http/replies.h"
#include "daemon/http/response.h"
#include "daemon/http/utilities.h"
#include "daemon/server.h"
#include "daemon/service.h"

namespace lockstep::daemon::http {

class Connection : public ServedConnection, public ReplyChannel {
 public:
  // `guard`: who may ask; none: everybody, on a Unix socket.
  Connection(Server& server, Service& service, const Guard* guard, Socket socket);
  ~Connection() override;

  static boost::asio::awaitable<void> run(std::shared_ptr<Connection> self);

  void finish() override;
  PeerState look() override;
  boost::asio::awaitable<void> probe() override;
  void hang_up(const std::string& why) override;
  boost::asio::awaitable<void> write(std::string bytes) override;
  Framing& framing() override { return framing_; }
  void stream_begun() override { streaming_ = true; }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  template <typename T>
  using awaitable = boost::asio::awaitable<T>;

  awaitable<void> serve_requests();
  awaitable<bool> wait_for_request();
  awaitable<bool> read_header();
  awaitable<void> serve_request();
  awaitable<std::optional<Response>> answer();
  awaitable<void> read_body();
  awaitable<void> drain_body();
  awaitable<void> linger();
  bool body_can_be_drained();
  bool expects_continue() const;
  bool admit(std::string_view path);
  awaitable<Response> answer_utility(const Utility& utility, Ticket ticket);
  void end_request(int status);

  Service& service_;
  boost::beast::basic_stream<boost::asio::generic::stream_protocol> stream_;
  const Guard* const guard_;
  const std::string peer_;
  boost::beast::flat_buffer buffer_;

  std::optional<Parser> parser_;  // of the request in work
  Framing framing_;
  std::chrono::steady_clock::time_point begun_;
  std::string broken_;      // why hang_up() was called
  bool finishing_ = false;  // no further request
  bool streaming_ = false;  // the header of a stream is out
  std::string_view route_;  // of the request, for the metrics
  std::string label_;       // of the key that the request showed
  std::string notes_;       // on the request, for its log line
};

// What a connection beyond the limit gets.
std::string too_many_connections();

}  // namespace lockstep::daemon::http
