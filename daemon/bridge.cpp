#include "daemon/bridge.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/limits.h"

namespace lockstep::daemon {
namespace {

namespace asio = boost::asio;

// Roughly what a delta takes until its client has it.
std::size_t size_of(const engine::Delta& delta) {
  std::size_t bytes = sizeof(Event) + delta.reasoning.size() + delta.content.size();
  for (const auto& call : delta.calls) bytes += sizeof call + call.name.size() + call.arguments.size();
  for (const auto* tokens : {&delta.logprobs, &delta.prompt})
    for (const auto& token : *tokens) bytes += sizeof token + token.top.size() * sizeof(token.top[0]);
  return bytes;
}

}  // namespace

class Bridge::JobSink : public engine::Sink {
 public:
  JobSink(std::shared_ptr<Bridge> bridge, int choice) : bridge_(std::move(bridge)), choice_(choice) {}

  void progress(int read, int total) override {
    bridge_->push({choice_, Progress{read, total}}, sizeof(Event));
  }
  void delta(engine::Delta&& delta) override {
    const std::size_t bytes = size_of(delta);
    bridge_->push({choice_, std::move(delta)}, bytes);
  }
  void done(engine::Reply&& reply) override { bridge_->push({choice_, std::move(reply)}, 0); }
  // A copy of an exception shares its text with the original; a new one crosses to the other thread alone.
  void failed(const engine::RequestError& error) override {
    bridge_->push({choice_, engine::RequestError(error.kind, error.what(), error.field)}, 0);
  }

 private:
  const std::shared_ptr<Bridge> bridge_;
  const int choice_;
};

Bridge::Bridge(asio::any_io_executor io) : io_(std::move(io)), timer_(io_) {}

std::shared_ptr<engine::Sink> Bridge::sink(int choice) {
  return std::make_shared<JobSink>(shared_from_this(), choice);
}

std::vector<Event> Bridge::take() {
  const std::lock_guard lock(mutex_);
  bytes_ = 0;
  return std::exchange(events_, {});
}

asio::awaitable<void> Bridge::wait(std::chrono::milliseconds most) {
  // A wake-up that was posted meanwhile runs after this has begun to wait: both belong to the I/O thread.
  timer_.expires_after(most);
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) co_return;
  }
  boost::system::error_code cancelled;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
}

void Bridge::end_with(engine::RequestError error) {
  push({0, std::move(error)}, 0);
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void Bridge::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  events_.clear();
}

void Bridge::push(Event&& event, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (bytes_ + bytes > limits::bridge_bytes) {
    closed_ = true;
    wake(&Bridge::overflow);
    return;
  }
  const bool replaces = std::holds_alternative<Progress>(event) && !events_.empty() &&
                        std::holds_alternative<Progress>(events_.back()) &&
                        events_.back().choice == event.choice;
  if (replaces) {
    events_.back() = std::move(event);
    return;
  }
  bytes_ += bytes;
  events_.push_back(std::move(event));
  if (events_.size() == 1) wake(&Bridge::stop_waiting);
}

void Bridge::wake(void (Bridge::*what)()) {
  asio::post(io_, [self = shared_from_this(), what] { (self.get()->*what)(); });
}

void Bridge::overflow() {
  if (on_overflow_) on_overflow_();
}

}  // namespace lockstep::daemon
