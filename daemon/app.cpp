#include "daemon/app.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>

#include "daemon/events.h"
#include "daemon/http/connection.h"
#include "daemon/limits.h"
#include "daemon/local_connection.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/obstacle.h"

namespace lockstep::daemon {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

}  // namespace

ExitStatus status_of(engine::StartError::Kind kind) {
  switch (kind) {
    case engine::StartError::Kind::model: return ExitStatus::model;
    case engine::StartError::Kind::device: return ExitStatus::device;
    case engine::StartError::Kind::memory: return ExitStatus::memory;
  }
  return ExitStatus::failure;
}

App::App(Configuration configuration, OpenEngine open_engine, Listening listening)
    : configuration_(std::move(configuration)),
      open_engine_(std::move(open_engine)),
      when_listening_(std::move(listening)),
      work_(asio::make_work_guard(io_)),
      signals_(io_, SIGTERM, SIGINT, SIGHUP),
      beats_(io_),
      guard_(configuration_),
      service_(io_.get_executor(), configuration_),
      server_(io_.get_executor(), service_.accounts()) {}

App::~App() {
  if (loader_.joinable()) loader_.join();
}

ExitStatus App::run() {
  open_listeners();
  obstacle_ = obstacle(configuration_.engine.model);
  when_listening_(directory_.has_value(), directory_ && directory_->created());
  asio::co_spawn(io_, watch_signals(), asio::detached);
  loader_ = std::thread([this] { load(); });
  io_.run();
  listening_.clear();
  directory_.reset();
  if (failure_) throw *failure_;
  log_info("stopped");
  return status_;
}

void App::open_listeners() {
  std::vector<ListeningSocket> sockets = sockets_from_systemd();
  passed_ = !sockets.empty();
  if (!passed_) {
    using Kind = ListeningSocket::Kind;
    directory_.emplace(configuration_.socket_dir);
    sockets.push_back(listen_on_unix(Kind::http, configuration_.socket_dir / "http.sock"));
    sockets.push_back(listen_on_unix(Kind::varlink, configuration_.socket_dir / "org.lockstep.Inference"));
    if (configuration_.listen != "none") sockets.push_back(listen_on_tcp(configuration_.listen));
  }
  for (ListeningSocket& socket : sockets)
    if (socket.reachable_from_elsewhere() && !guard_.asks_for_keys())
      throw StartFailure(ExitStatus::configuration,
                         "listening on " + socket.name() +
                             ", which other machines can reach, needs API keys; set api_keys, or listen on "
                             "127.0.0.1 or [::1]");
  // The service manager's sockets outlive a restart: who comes meanwhile waits in their queues until there is
  // an engine. On others he is told that the model is being loaded.
  if (passed_) {
    waiting_ = std::move(sockets);
  } else {
    serve(std::move(sockets));
  }
}

void App::serve(std::vector<ListeningSocket> sockets) {
  for (ListeningSocket& socket : sockets) serve(std::move(socket));
}

void App::serve(ListeningSocket listening) {
  using Kind = ListeningSocket::Kind;
  const Kind kind = listening.kind();
  log_info("listening on " + listening.name());
  listening_.push_back(std::move(listening));
  if (kind == Kind::varlink) {
    server_.serve(listening_.back(), "", [this](Socket socket) {
      auto connection = std::make_shared<LocalConnection>(server_, service_, std::move(socket));
      asio::co_spawn(io_, LocalConnection::run(std::move(connection)), asio::detached);
    });
  } else {
    server_.serve(listening_.back(), http::too_many_connections(),
                  [this, tcp = kind == Kind::tcp](Socket socket) {
                    auto connection = std::make_shared<http::Connection>(
                        server_, service_, tcp ? &guard_ : nullptr, std::move(socket));
                    asio::co_spawn(io_, http::Connection::run(std::move(connection)), asio::detached);
                  });
  }
}

// On the loader's thread.
void App::load() {
  const std::string model = configuration_.engine.model.string();
  notify_status("Loading " + model);
  log_info("loading " + model);
  std::optional<StartFailure> failure;
  std::unique_ptr<engine::Engine> opened;
  try {
    opened = open_engine_(configuration_.engine, [](const std::string& line) {
      log_info(line);
      notify_status(line);
    });
  } catch (const engine::StartError& error) {
    std::string text = error.what();
    if (error.kind == engine::StartError::Kind::model && !obstacle_.empty()) text += "; " + obstacle_;
    failure.emplace(status_of(error.kind), text);
  } catch (const std::bad_alloc&) {
    failure.emplace(ExitStatus::memory,
                    model +
                        " does not fit into the memory that is free; free some, or serve a "
                        "smaller model");
  } catch (const std::exception& error) {
    failure.emplace(ExitStatus::failure, model + " cannot be loaded: " + error.what());
  }
  asio::post(io_, [this, failure, opened = std::move(opened)]() mutable {
    if (failure) {
      fail(*failure);
    } else {
      loaded(std::move(opened));
    }
  });
}

void App::loaded(std::unique_ptr<engine::Engine> opened) {
  service_.engine_ready(std::move(opened));
  serve(std::move(waiting_));
  engine::Engine& engine = service_.engine();
  engine.on_beat([this, &engine] {
    asio::post(io_, [this, text = engine.status().fault] {
      if (!text.empty()) return fault("the device is lost: " + text);
      beaten_ = true;
      notify_alive();
    });
  });
  asio::co_spawn(io_, watch_beats(), asio::detached);
  engine.on_notice([](const engine::Notice& notice) {
    notice.detail ? log_debug(notice.text) : log_event(Event::snapshots, notice.text, LogLevel::warning);
  });
  const engine::ModelInfo& model = engine.model();
  const std::string text = model.name + " on " + model.device + " (" + model.device_description + ")";
  log_info("ready: " + text + ", fingerprint " + model.fingerprint.substr(0, 12));
  notify_status("Serving " + text);
  notify_ready();
}

void App::fail(const StartFailure& failure) {
  failure_ = failure;
  begin_stop();
}

// A new process must take this one's place.
void App::fault(const std::string& text) {
  if (stopping_) return;
  log_event(Event::engine_lost, text);
  notify_status(text);
  status_ = ExitStatus::failure;
  service_.end_exchanges(text);
  begin_stop();
}

// A driver's call may never return; only this thread can tell then. It counts looks in vain and not the time
// since the last beat: a process that stood still as a whole (SIGSTOP, a frozen control group) could not beat
// meanwhile. While the machine sleeps nothing counts: timers here, and systemd's watchdog, run by
// CLOCK_MONOTONIC.
asio::awaitable<void> App::watch_beats() {
  const auto watchdog = watchdog_time();
  const auto limit = watchdog ? std::chrono::duration_cast<std::chrono::milliseconds>(*watchdog * 3 / 4)
                              : std::chrono::milliseconds(limits::stuck);
  constexpr int looks = 4;
  for (int in_vain = 0; !stopping_;) {
    beats_.expires_after(limit / looks);
    boost::system::error_code cancelled;
    co_await beats_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (cancelled) co_return;
    in_vain = std::exchange(beaten_, false) ? 0 : in_vain + 1;
    if (in_vain == looks) fault("the engine is stuck: no step in " + std::to_string(limit.count()) + " ms");
  }
}

asio::awaitable<void> App::watch_signals() {
  for (;;) {
    boost::system::error_code cancelled;
    const int signal = co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (cancelled) co_return;
    if (signal == SIGHUP) {
      guard_.reload();
      continue;
    }
    // While loading nothing runs that could be finished, and the loading cannot be interrupted.
    if (stopping_ || !service_.has_engine()) quit_now();
    begin_stop();
  }
}

void App::begin_stop() {
  if (std::exchange(stopping_, true)) return;
  // Posted, because co_spawn() may begin at once: stop() cancels the wait that the caller is yet to begin.
  asio::post(io_, [this] { asio::co_spawn(io_, stop(), asio::detached); });
}

// Afterwards nothing is left for the executor to do, and run() returns.
asio::awaitable<void> App::stop() {
  notify_stopping();
  if (passed_) server_.close_listeners();  // who comes now waits for the next daemon
  if (passed_ && status_ == ExitStatus::success && !failure_)
    co_await wait_for([] { return false; }, limits::just_come);
  service_.refuse_new();
  server_.finish_connections();
  const auto no_requests = [this] { return service_.requests() == 0; };
  if (!no_requests()) {
    const std::string left = "stopping: " + std::to_string(configuration_.drain.count()) +
                             " s for requests in work: " + std::to_string(service_.requests());
    log_info(left);
    notify_status(left);
    co_await wait_for(no_requests, configuration_.drain);
  }
  if (!no_requests()) {
    log_warning("stopping: cut short: " + std::to_string(service_.requests()));
    service_.end_exchanges("the server is shutting down");
    co_await wait_for(no_requests, limits::last_words);
  }
  co_await wait_for([this] { return server_.busy() == 0; }, limits::last_words);
  server_.close_listeners();
  server_.close_connections();
  co_await wait_for([this] { return server_.connections() == 0; }, limits::last_words);
  if (server_.connections() > 0) quit_now();
  boost::system::error_code ignored;
  signals_.cancel(ignored);
  beats_.cancel(ignored);
  work_.reset();
}

asio::awaitable<void> App::wait_for(std::function<bool()> done, std::chrono::milliseconds most) {
  const auto deadline = steady_clock::now() + most;
  asio::steady_timer timer(io_);
  while (!done() && steady_clock::now() < deadline) {
    timer.expires_after(std::chrono::milliseconds(10));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void App::quit_now() {
  log_info("stopped at once");
  listening_.clear();
  directory_.reset();
  std::_Exit(static_cast<int>(status_));
}

}  // namespace lockstep::daemon
