// What every way into the daemon shares: the engine once it is there, admission, the pool that prepares
// prompts, and the list of running exchanges. Belongs to the I/O thread, except where said.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "daemon/accounts.h"
#include "daemon/configuration.h"
#include "daemon/law_check.h"
#include "daemon/metrics.h"
#include "daemon/openai/responses_store.h"
#include "daemon/preparing.h"
#include "engine/engine.h"

namespace lockstep::daemon {

class Exchange;
class Service;

// Room for what is held of requests that have not been answered. Gives it back when it goes.
class Room {
 public:
  Room(Service& service, std::shared_ptr<Account> account)
      : service_(&service), account_(std::move(account)) {}
  Room(Room&& other) noexcept;
  Room& operator=(Room&&) = delete;
  ~Room();
  void resize(std::size_t bytes);  // throws ApiError (429) when others hold too much

 private:
  friend class Ticket;
  Service* service_;
  std::shared_ptr<Account> account_;
  std::size_t counted_ = 0;
};

// A place among the requests in flight, and room for its body. Gives both back when it goes.
class Ticket {
 public:
  Ticket(Service& service, Room room);
  Ticket(Ticket&& other) noexcept;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket();
  void resize(std::size_t bytes) { room_.resize(bytes); }  // once the body's true size is known
  Account& account() const { return *room_.account_; }

 private:
  Service* service_;
  Room room_;
};

class Service {
 public:
  enum class State { loading, ready, stopping };

  Service(boost::asio::any_io_executor io, const Configuration& configuration);
  ~Service();

  State state() const { return state_; }
  const Configuration& configuration() const { return configuration_; }
  boost::asio::any_io_executor io() const { return io_; }
  Preparing& preparing() { return *preparing_; }  // once the engine is there

  void engine_ready(std::unique_ptr<engine::Engine> engine);
  bool has_engine() const { return engine_ != nullptr; }
  engine::Engine& engine() const { return *engine_; }  // any thread, once it is there
  const engine::Sampling& default_sampling() const { return default_sampling_; }

  // A place for a request with a body of so many bytes. Throws ApiError: 503 while loading or stopping, 429
  // when there are too many, of this user or of all.
  Ticket admit(const std::shared_ptr<Account>& account, std::size_t body_bytes);
  // Throws ApiError (404) unless `name` is the served model's, "default" or empty.
  void check_model(const std::string& name) const;

  std::chrono::duration<double> uptime() const { return std::chrono::steady_clock::now() - begun_; }
  int requests() const { return requests_; }
  void refuse_new() { state_ = State::stopping; }
  // Ends what is still running with an error that says why.
  void end_exchanges(const std::string& why);
  // Ends the exchange of this id with an error. False if there is none that the caller may see.
  bool cancel(const std::string& id, const Caller& caller);
  // Those that the caller may see, the oldest first.
  std::vector<const Exchange*> exchanges(const Caller& caller) const;
  Accounts& accounts() { return accounts_; }
  const Accounts& accounts() const { return accounts_; }
  Metrics& metrics() { return metrics_; }
  const Metrics& metrics() const { return metrics_; }
  openai::ResponsesStore& responses() { return responses_; }  // any thread
  // Throws ApiError (429) while another one goes on.
  std::shared_ptr<LawCheck> begin_check(int trials, unsigned seed);

 private:
  friend class Room;
  friend class Ticket;
  friend class Exchange;

  boost::asio::any_io_executor io_;
  const Configuration& configuration_;
  std::unique_ptr<engine::Engine> engine_;
  engine::Sampling default_sampling_;
  State state_ = State::loading;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  int requests_ = 0;
  std::size_t bodies_ = 0;
  Accounts accounts_;
  Metrics metrics_;
  openai::ResponsesStore responses_;
  std::set<Exchange*> exchanges_;
  std::shared_ptr<LawCheck> check_;  // the last one
  std::optional<Preparing> preparing_;
  std::optional<boost::asio::thread_pool> check_pool_;  // from the first check on
};

}  // namespace lockstep::daemon
