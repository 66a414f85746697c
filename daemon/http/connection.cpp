#include "daemon/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/read.hpp>
#include <cstdio>

#include "daemon/http/guard.h"
#include "daemon/http/routes.h"
#include "daemon/limits.h"
#include "daemon/log.h"

namespace lockstep::daemon::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Error = beast::http::error;

// What to answer to bytes that are no request; nothing if there is nobody to answer.
std::optional<openai::ApiError> refusal_of(const error_code& failed) {
  const auto refuse = [](int status, const std::string& text, const char* code) {
    return openai::ApiError(status, "invalid_request_error", text, {}, code);
  };
  if (failed == Error::header_limit || failed == Error::buffer_overflow)
    return refuse(431, "the header is longer than " + std::to_string(limits::header_bytes) + " bytes",
                  "header_too_large");
  if (failed == Error::body_limit)
    return refuse(413, "the body is longer than " + std::to_string(limits::body_bytes) + " bytes",
                  "body_too_large");
  if (failed == beast::error::timeout)
    return refuse(408, "the request did not arrive in time", "request_timeout");
  if (failed == Error::end_of_stream || failed == Error::partial_message) return std::nullopt;
  if (failed.category() == error_code(Error::bad_method).category())
    return refuse(400, "this is not an HTTP request (" + failed.message() + ")", "bad_request");
  return std::nullopt;
}

}  // namespace

Connection::Connection(Server& server, Service& service, const Guard* guard, Socket socket)
    : ServedConnection(server, socket),
      service_(service),
      stream_(std::move(socket)),
      guard_(guard),
      peer_(describe_peer(stream_.socket().native_handle())) {
  const int on = 1;
  if (guard) setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() = default;

asio::awaitable<void> Connection::run(std::shared_ptr<Connection> self) {
  try {
    co_await self->serve_requests();
  } catch (const PeerGone& gone) {
    self->notes_ = gone.what();
    self->end_request(499);
  } catch (const boost::system::system_error& failed) {
    self->notes_ =
        self->broken_.empty() ? "the connection broke (" + failed.code().message() + ")" : self->broken_;
    self->end_request(499);
  }
  self->stream_.close();
}

asio::awaitable<void> Connection::serve_requests() {
  while (!finishing_) {
    const bool another = co_await wait_for_request();
    if (!another) co_return;
    const bool whole = co_await read_header();
    if (!whole) co_return;
    co_await serve_request();
    if (!framing_.keep_alive) {
      co_await linger();
      co_return;
    }
  }
}

// Empty lines before a request are allowed for (RFC 9112, 2.2).
asio::awaitable<bool> Connection::wait_for_request() {
  parser_.reset();
  set_idle(true);
  stream_.expires_after(limits::idle);
  for (;;) {
    while (buffer_.size() > 0) {
      const char first = *static_cast<const char*>(buffer_.cdata().data());
      if (first != '\r' && first != '\n') {
        set_idle(false);
        co_return true;
      }
      buffer_.consume(1);
    }
    error_code failed;
    const auto space = buffer_.prepare(4096);
    const std::size_t count =
        co_await stream_.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return false;
    buffer_.commit(count);
  }
}

// False: the connection is over.
asio::awaitable<bool> Connection::read_header() {
  begun_ = std::chrono::steady_clock::now();
  notes_.clear();
  label_.clear();
  route_ = "other";
  streaming_ = false;
  framing_ = {};
  parser_.emplace();
  parser_->header_limit(limits::header_bytes);
  parser_->body_limit(limits::body_bytes);
  error_code failed;
  stream_.expires_after(limits::header_read);
  co_await beast::http::async_read_header(stream_, buffer_, *parser_,
                                          asio::redirect_error(asio::use_awaitable, failed));
  if (!failed) {
    const auto& request = parser_->get();
    framing_.version = request.version() == 10 ? 10 : 11;
    framing_.keep_alive = request.keep_alive() && !finishing_;
    framing_.head = request.method() == beast::http::verb::head;
    co_return true;
  }
  const std::optional<openai::ApiError> refusal = refusal_of(failed);
  if (!refusal) co_return false;
  framing_.keep_alive = false;
  notes_ = refusal->what();
  co_await write(to_bytes(error_response(*refusal), framing_));
  end_request(refusal->status);
  co_await linger();
  co_return false;
}

asio::awaitable<void> Connection::serve_request() {
  std::optional<Response> response;
  try {
    response = co_await answer();
  } catch (const openai::ApiError& error) {
    response = error_response_at(path_of(parser_->get().target()), error);
    notes_ = error.what();
  }
  if (finishing_) framing_.keep_alive = false;
  if (!response) {
    end_request(200);
    co_return;
  }
  const bool body_unread = !parser_->is_done();
  if (body_unread && !body_can_be_drained()) framing_.keep_alive = false;
  co_await write(to_bytes(*response, framing_));
  end_request(response->status);
  if (body_unread && framing_.keep_alive) co_await drain_body();
}

asio::awaitable<std::optional<Response>> Connection::answer() {
  const auto& request = parser_->get();
  const std::string path(path_of(request.target()));
  if (guard_ && admit(path)) co_return json_response(200, json::Object{});
  const Route route = route_of(request.method_string(), request.target());
  route_ = route.name;
  if (route.answer) co_return route.answer(service_, route.asked);
  const auto length = parser_->content_length();
  Ticket ticket = service_.admit(account(), length ? *length : limits::body_bytes);
  co_await read_body();
  ticket.resize(request.body().size());
  if (route.utility) co_return co_await answer_utility(*route.utility, std::move(ticket));
  ReplyOutcome outcome = co_await serve_replies(*route.endpoint, service_, *this, *this, std::move(ticket),
                                                std::move(parser_->get().body()));
  notes_ = std::move(outcome.notes);
  co_return std::move(outcome.response);
}

asio::awaitable<Response> Connection::answer_utility(const Utility& utility, Ticket ticket) {
  const Ticket held = std::move(ticket);  // until the answer is there
  auto work = [&utility, &service = service_, text = std::move(parser_->get().body())] {
    return utility.answer(service, openai::parse_body(text));
  };
  const Preparing::Place place = co_await service_.preparing().take(held.account());
  const json::Value body = co_await service_.preparing().run(place, std::move(work));
  co_return json_response(200, body);
}

// Throws ApiError. True: the request was a browser's question, whether a page may ask.
bool Connection::admit(std::string_view path) {
  const auto& request = parser_->get();
  using beast::http::field;
  const Credentials credentials{path, request[field::host], request[field::origin],
                                request[field::authorization], request["X-Api-Key"]};
  const std::string_view method = request[field::access_control_request_method];
  const bool preflight = request.method() == beast::http::verb::options && !method.empty();
  Admission admission = preflight ? guard_->admit_preflight(credentials) : guard_->admit(credentials);
  label_ = std::move(admission.label);
  Headers& headers = framing_.headers;
  if (!admission.origin.empty()) {
    headers.emplace_back("Access-Control-Allow-Origin", admission.origin);
    headers.emplace_back("Vary", "Origin");
  }
  if (!preflight) return false;
  headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
  headers.emplace_back("Access-Control-Allow-Headers",
                       std::string(request[field::access_control_request_headers]));
  headers.emplace_back("Access-Control-Max-Age", "600");
  return true;
}

asio::awaitable<void> Connection::read_body() {
  if (parser_->is_done()) co_return;
  if (expects_continue()) co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  error_code failed;
  stream_.expires_after(limits::body_read);
  co_await beast::http::async_read(stream_, buffer_, *parser_,
                                   asio::redirect_error(asio::use_awaitable, failed));
  stream_.expires_never();
  if (!failed) co_return;
  framing_.keep_alive = false;
  if (const auto refusal = refusal_of(failed)) throw *refusal;
  throw PeerGone("the client left before its request was whole");
}

bool Connection::expects_continue() const {
  return beast::iequals(parser_->get()[beast::http::field::expect], "100-continue");
}

// A client that waits for leave to send its body may send it or not; one that sends too much is not heard
// out.
bool Connection::body_can_be_drained() {
  if (!framing_.keep_alive || expects_continue()) return false;
  const auto left = parser_->content_length_remaining();
  if (!left) parser_->body_limit(limits::drained_bytes);
  return !left || *left <= limits::drained_bytes;
}

asio::awaitable<void> Connection::drain_body() {
  error_code failed;
  stream_.expires_after(limits::body_read);
  co_await beast::http::async_read(stream_, buffer_, *parser_,
                                   asio::redirect_error(asio::use_awaitable, failed));
  if (failed) framing_.keep_alive = false;
}

// Closing with unread bytes would reset the connection and could cost the client its answer: says that no
// more will come and waits until the client hangs up.
asio::awaitable<void> Connection::linger() {
  error_code failed;
  stream_.socket().shutdown(Socket::shutdown_send, failed);
  stream_.expires_after(limits::linger);
  while (!failed) {
    buffer_.clear();
    const auto space = buffer_.prepare(16384);
    co_await stream_.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
  }
}

asio::awaitable<void> Connection::write(std::string bytes) {
  stream_.expires_after(limits::write);
  co_await asio::async_write(stream_, asio::buffer(bytes), asio::use_awaitable);
  stream_.expires_never();
}

void Connection::finish() {
  finishing_ = true;
  if (idle()) hang_up("the daemon stops");
}

PeerState Connection::look() { return look_at_socket(stream_.socket().native_handle()); }

// A Unix socket's kernel tells the two cases apart by itself. Over TCP an interim response, or within a
// stream a comment, is what every client skips.
asio::awaitable<void> Connection::probe() {
  if (!guard_ || framing_.version == 10) co_return;
  if (streaming_) {
    co_await write(chunk(": waiting\n\n"));
  } else {
    co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

void Connection::hang_up(const std::string& why) {
  broken_ = why;
  stream_.close();
}

void Connection::end_request(int status) {
  if (!parser_) return;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun_;
  service_.metrics().request(route_, status, label_, taken.count());
  char numbers[48];
  std::snprintf(numbers, sizeof numbers, " %d %.3fs ", status, taken.count());
  const auto& request = parser_->get();
  std::string line(request.method_string());
  line += " " + std::string(request.target().substr(0, 200)) + numbers + peer_;
  if (!label_.empty()) line += " key=" + label_;
  if (!notes_.empty()) line += " " + notes_;
  log_info(line);
}

std::string too_many_connections() {
  Framing framing;
  framing.keep_alive = false;
  const openai::ApiError error =
      openai::unavailable("too many connections are open", "too_many_connections", 1);
  return to_bytes(error_response(error), framing);
}

}  // namespace lockstep::daemon::http
