#include "daemon/service.h"

#include <algorithm>

#include "daemon/exchange.h"
#include "daemon/limits.h"
#include "daemon/openai/error.h"

namespace lockstep::daemon {

Room::Room(Room&& other) noexcept
    : service_(other.service_), account_(other.account_), counted_(std::exchange(other.counted_, 0)) {}

Room::~Room() {
  service_->bodies_ -= counted_;
  account_->held -= counted_;
}

void Room::resize(std::size_t bytes) {
  const std::size_t wanted = bytes > limits::small_body_bytes ? bytes : 0;
  const bool too_much = service_->bodies_ - counted_ + wanted > limits::bodies_bytes ||
                        account_->held - counted_ + wanted > limits::user_bodies_bytes;
  if (wanted > counted_ && too_much)
    throw openai::too_many("too many large requests are being read", "queue_full");
  service_->bodies_ += wanted - counted_;
  account_->held += wanted - counted_;
  counted_ = wanted;
}

Ticket::Ticket(Service& service, Room room) : service_(&service), room_(std::move(room)) {
  ++service.requests_;
  ++account().requests;
}

Ticket::Ticket(Ticket&& other) noexcept
    : service_(std::exchange(other.service_, nullptr)), room_(std::move(other.room_)) {}

Ticket::~Ticket() {
  if (!service_) return;
  --service_->requests_;
  --account().requests;
}

Service::Service(boost::asio::any_io_executor io, const Configuration& configuration)
    : io_(std::move(io)), configuration_(configuration) {}

Service::~Service() {
  if (check_) check_->stop();
  if (check_pool_) check_pool_->join();
}

void Service::engine_ready(std::unique_ptr<engine::Engine> engine) {
  engine_ = std::move(engine);
  preparing_.emplace(io_);
  default_sampling_ = with_defaults(engine_->default_sampling(), configuration_.sampling);
  if (state_ == State::loading) state_ = State::ready;
}

Ticket Service::admit(const std::shared_ptr<Account>& account, std::size_t body_bytes) {
  try {
    if (state_ == State::loading) throw openai::unavailable("the model is being loaded", "model_loading", 2);
    if (state_ == State::stopping)
      throw openai::unavailable("the server is shutting down", "shutting_down", 5);
    const int queue = configuration_.engine.queue;
    const int most = configuration_.engine.lanes + queue + limits::preparing;
    if (requests_ >= most)
      throw openai::too_many("too many requests: " + std::to_string(requests_) + " are in work",
                             "queue_full");
    if (account->requests >= most - queue / 4)
      throw openai::too_many(
          "too many requests: " + std::to_string(account->requests) + " of this user are in work",
          "queue_full");
    Room room(*this, account);
    room.resize(body_bytes);
    return {*this, std::move(room)};
  } catch (const openai::ApiError&) {
    ++account->refused;
    throw;
  }
}

std::shared_ptr<LawCheck> Service::begin_check(int trials, unsigned seed) {
  if (check_ && !check_->over()) throw openai::too_many("another check goes on", "check_running");
  if (!check_pool_) check_pool_.emplace(1);
  check_ = LawCheck::begin(*check_pool_, *engine_, trials, seed);
  return check_;
}

void Service::check_model(const std::string& name) const {
  const std::string& served = engine_->model().name;
  if (name.empty() || name == "default" || name == served) return;
  throw openai::ApiError(404, "invalid_request_error",
                         "the model '" + name + "' is not served here; '" + served + "' (or 'default') is",
                         "model", "model_not_found");
}

void Service::end_exchanges(const std::string& why) {
  for (Exchange* exchange : exchanges_) exchange->end(openai::unavailable(why, "shutting_down", 5));
}

bool Service::cancel(const std::string& id, const Caller& caller) {
  for (Exchange* exchange : exchanges_) {
    if (exchange->id() != id || !may_see(caller, exchange->caller().uid)) continue;
    exchange->end(openai::cancelled("the request was cancelled by uid " + std::to_string(*caller.uid)));
    return true;
  }
  return false;
}

std::vector<const Exchange*> Service::exchanges(const Caller& caller) const {
  std::vector<const Exchange*> seen;
  for (const Exchange* exchange : exchanges_)
    if (may_see(caller, exchange->caller().uid)) seen.push_back(exchange);
  std::ranges::sort(seen, {}, [](const Exchange* exchange) { return exchange->begun(); });
  return seen;
}

}  // namespace lockstep::daemon
