// One connection of the local protocol (ipc/ipc.h): answers its calls one after the other, Chat by the same
// way as HTTP does. I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <chrono>
#include <memory>
#include <string>

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

  awaitable<void> serve_calls();
  awaitable<bool> read();
  awaitable<void> answer(const ipc::Call& call);
  awaitable<void> answer_chat(const ipc::Chat& chat, bool more);
  awaitable<std::string> run_chat(Exchange& exchange, const ipc::Chat& chat, bool more);
  awaitable<void> write(std::string bytes);

  Service& service_;
  boost::beast::basic_stream<boost::asio::generic::stream_protocol> stream_;
  const std::string peer_;
  ipc::FrameReader frames_;
  Room room_;                                  // for what frames_ holds and the call in work
  std::chrono::steady_clock::time_point due_;  // when the next message must be whole
  std::string broken_;                         // why hang_up() was called
  bool idle_ = false;
  bool finishing_ = false;
};

}  // namespace lockstep::daemon
