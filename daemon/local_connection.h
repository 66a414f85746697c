// One connection of the local protocol (ipc/ipc.h): answers its calls one after the other, Chat and Complete
// by the same way as HTTP does. Of calls sent ahead at most one read's bytes are held, the rest waits in the
// socket. Descriptors that come along are closed by the kernel, as nobody takes them. I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "daemon/openai/chat_request.h"
#include "daemon/peer.h"
#include "daemon/server.h"
#include "daemon/service.h"
#include "ipc/ipc.h"

namespace lockstep::daemon {

class LocalConnection : public ServedConnection {
 public:
  LocalConnection(Server& server, Service& service, Socket socket);

  static boost::asio::awaitable<void> run(std::shared_ptr<LocalConnection> self);

  void finish() override;
  PeerState look() override;
  boost::asio::awaitable<void> probe() override;
  void hang_up(const std::string& why) override;

 private:
  template <typename T>
  using awaitable = boost::asio::awaitable<T>;
  using ReadRequest = std::function<openai::Request()>;  // runs on the pool

  awaitable<void> serve_calls();
  awaitable<bool> read();
  awaitable<void> answer(const ipc::Call& call);
  // Admits an exchange for `run`, which gives the log's notes on it, and sends what goes wrong.
  using RunRequest = std::function<awaitable<std::string>(Exchange&)>;
  awaitable<void> answer_request(std::string_view method, RunRequest run);
  awaitable<std::string> run_request(Exchange& exchange, ReadRequest read, bool more);
  awaitable<std::string> run_verify(Exchange& exchange, const ipc::Receipt& receipt, bool more);
  awaitable<void> answer_tokenize(const ipc::Tokenize& tokenize);
  awaitable<void> answer_cancel(const ipc::Cancel& cancel, bool oneway);
  awaitable<void> answer_status(bool more);
  awaitable<void> answer_snapshots();
  awaitable<void> answer_check(const ipc::Check& check, bool more);
  awaitable<void> follow_check(LawCheck& check, bool more);
  awaitable<void> pause();
  awaitable<void> watch_status();
  awaitable<void> write(std::string bytes);

  Service& service_;
  boost::beast::basic_stream<boost::asio::generic::stream_protocol> stream_;
  const std::string peer_;
  ipc::FrameReader frames_;
  Room room_;                                  // for what frames_ holds and the call in work
  std::chrono::steady_clock::time_point due_;  // when the next message must be whole
  boost::asio::steady_timer pause_;            // between two looks of Status and Check
  std::string broken_;                         // why hang_up() was called
  bool finishing_ = false;
};

}  // namespace lockstep::daemon
