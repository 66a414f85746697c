// The way of the events of a request's jobs from the engine's thread to the I/O thread: a queue with a limit
// in bytes.
//
// Threads: the sinks' members are called on the engine's thread and never block. All others belong to the
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
struct Event : std::variant<Progress, engine::Delta, engine::Reply, engine::RequestError> {
  using Base = std::variant<Progress, engine::Delta, engine::Reply, engine::RequestError>;
  Event(int of_choice, Base what) : Base(std::move(what)), choice(of_choice) {}
  int choice;  // the job
};

class Bridge : public std::enable_shared_from_this<Bridge> {
 public:
  explicit Bridge(boost::asio::any_io_executor io);

  // For a job; keeps the bridge alive.
  std::shared_ptr<engine::Sink> sink(int choice);

  // What has come since the last call; empty if nothing.
  std::vector<Event> take();
  // Until there is something to take, or the time is over.
  boost::asio::awaitable<void> wait(std::chrono::milliseconds most);
  // Ends all events with an error of the daemon's own. Later ones are dropped.
  void end_with(engine::RequestError error);
  // Nobody will take anything any more. Does not touch the executor afterwards.
  void close();
  // Called once if the client takes its events too slowly; later ones are dropped.
  void set_on_overflow(std::function<void()> on_overflow) { on_overflow_ = std::move(on_overflow); }

 private:
  class JobSink;
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
