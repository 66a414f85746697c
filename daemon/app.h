// The daemon, put together. run() serves until a signal or a fault ends it.
//
// Threads: the caller's is the I/O thread; one more opens the engine, which then has its own; from then on a
// small pool prepares prompts.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/configuration.h"
#include "daemon/exit_status.h"
#include "daemon/http/guard.h"
#include "daemon/listeners.h"
#include "daemon/server.h"
#include "daemon/service.h"
#include "engine/engine.h"

namespace lockstep::daemon {

ExitStatus status_of(engine::StartError::Kind kind);

class App {
 public:
  // engine::Engine::open, or a test's own.
  using OpenEngine = std::function<std::unique_ptr<engine::Engine>(
      const engine::Options&, const std::function<void(const std::string&)>&)>;

  // Called when the listeners are open and no other thread runs yet: whether this process made the sockets,
  // and their directory.
  using Listening = std::function<void(bool owns_sockets, bool owns_directory)>;

  App(
      Configuration configuration, OpenEngine open_engine, Listening listening = [](bool, bool) {});
  ~App();

  // Reads the API keys, opens the listeners, then the engine. Throws StartFailure; whatever was created is
  // removed again. After ExitStatus::failure the engine may be stuck, and so would be the destructor.
  ExitStatus run();

 private:
  void open_listeners();
  void serve(ListeningSocket listening);
  void serve(std::vector<ListeningSocket> sockets);
  void load();
  void loaded(std::unique_ptr<engine::Engine> engine);
  void fail(const StartFailure& failure);
  void fault(const std::string& text);
  boost::asio::awaitable<void> watch_beats();
  boost::asio::awaitable<void> watch_signals();
  void begin_stop();
  boost::asio::awaitable<void> stop();
  boost::asio::awaitable<void> wait_for(std::function<bool()> done, std::chrono::milliseconds most);
  [[noreturn]] void quit_now();

  const Configuration configuration_;
  const OpenEngine open_engine_;
  const Listening when_listening_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer beats_;
  http::Guard guard_;
  std::optional<SocketDirectory> directory_;
  std::vector<ListeningSocket> listening_, waiting_;
  std::string obstacle_;  // on the way to the model; asked for while names of users can be read
  Service service_;
  Server server_;
  std::thread loader_;
  bool beaten_ = false;  // by the engine, since watch_beats() looked
  bool passed_ = false;  // the sockets are the service manager's
  bool stopping_ = false;
  ExitStatus status_ = ExitStatus::success;
  std::optional<StartFailure> failure_;
};

}  // namespace lockstep::daemon
