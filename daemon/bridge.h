// The way of one job's events from the engine's thread to the I/O thread: a queue with a limit in bytes.
//
// Threads: the Sink's members are called on the engine's thread and never block. All others belong to the
// I/O thread, which also runs `on_overflow`.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "engine/engine.h"

namespace lockstep::daemon {

struct Progress {
  int read, total;  // prompt tokens
};
// The last one of a job is a Reply or a RequestError.
using Event = std::variant<Progress, engine::Delta, engine::Reply, engine::RequestError>;

class Bridge : public engine::Sink, public std::enable_shared_from_this<Bridge> {
 public:
  explicit Bridge(boost::asio::any_io_executor io);

  // What has come since the last call; empty if nothing.
  std::vector<Event> take();
  // Until there is something to take, or the time is over.
  boost::asio::awaitable<void> wait(std::chrono::milliseconds most);
  // Ends the job's events with an error of the daemon's own. Later ones are dropped.
  void end_with(engine::RequestError error);
  // Nobody will take anything any more. Does not touch the executor afterwards.
  void close();
  // Called once if the client takes its events too slowly; later ones are dropped.
  void set_on_overflow(std::function<void()> on_overflow) { on_overflow_ = std::move(on_overflow); }

  void progress(int read, int total) override;
  void delta(engine::Delta&& delta) override;
  void done(engine::Reply&& reply) override;
  void failed(const engine::RequestError& error) override;

 private:
  void push(Event&& event, std::size_t bytes);
  void wake(void (Bridge::*what)());
  void stop_waiting() { timer_.cancel(); }
  void overflow();

  boost::asio::any_io_executor io_;
  boost::asio::steady_timer timer_;
  std::function<void()> on_overflow_;

  std::mutex mutex_;  // of what follows
  std::vector<Event> events_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace lockstep::daemon
