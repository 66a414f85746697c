// One chat from its request to its last event, whichever way it came in. I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/bridge.h"
#include "daemon/openai/reply.h"
#include "daemon/openai/request.h"
#include "daemon/peer.h"
#include "daemon/service.h"

namespace lockstep::daemon {

class Exchange {
 public:
  Exchange(Service& service, Peer& peer, Ticket ticket, std::string_view method);
  // Cancels the job unless it is over.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Reads the request and prepares its prompts on the pool, then submits a job for each of its replies.
  // `read` runs on the pool. Throws ApiError, PeerGone.
  boost::asio::awaitable<void> start(std::function<openai::Request()> read);

  // Waits for the next events: deltas, and a Reply for each choice; none if the time is over. Throws
  // PeerGone, and ApiError if a job fails.
  boost::asio::awaitable<std::vector<Event>> next(std::chrono::milliseconds most = std::chrono::hours(24));

  const openai::Request& request() const { return request_; }
  openai::ReplyHead head() const;
  // Words of the request's schemas that the reply is not held to.
  const std::vector<std::string>& unenforced() const { return unenforced_; }
  const std::vector<int32_t>& prompt() const { return prompt_; }  // of requests that want a receipt
  const std::string& device() const { return service_.engine().model().device; }
  int prompt_tokens() const { return prompt_tokens_; }      // of all prompts; 0 before they are prepared
  bool over() const { return jobs_.empty() && !failure_; }  // every choice has its Reply

  // From outside: ends the jobs with an error.
  void end(openai::ApiError error);

  // For Status.
  const std::string& id() const { return id_; }
  std::string_view method() const { return method_; }
  std::string_view state() const;
  const Caller& caller() const { return peer_.caller(); }
  int reply_tokens() const { return reply_tokens_; }  // so far
  std::chrono::steady_clock::time_point begun() const { return begun_; }

 private:
  void submit(std::vector<engine::Prompt>&& prompts);
  void job_over(int choice);
  void cancel();
  boost::asio::awaitable<void> look_after_peer();
  void settle(std::vector<Event>& events);
  void note_time(int choice);

  Service& service_;
  Peer& peer_;
  Ticket ticket_;
  openai::Request request_;
  std::shared_ptr<Bridge> bridge_;
  std::vector<std::string> unenforced_;
  std::vector<int32_t> prompt_;
  bool held_to_form_ = false;
  int prompt_tokens_ = 0;
  std::map<int, engine::JobId> jobs_;      // by choice, while they run
  std::optional<openai::ApiError> ended_;  // by end()
  bool too_slow_ = false;
  enum class State { preparing, waiting, reading, writing } state_ = State::preparing;
  int reply_tokens_ = 0, finished_tokens_ = 0;
  bool served_ = false;
  std::optional<openai::ApiError> failure_;  // of the engine, to be thrown
  const std::string id_;
  const std::string_view method_;
  const int64_t created_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_look_, last_probe_;
  std::map<int, std::chrono::steady_clock::time_point> last_delta_;  // of each choice
};

// Counts and times of a reply, for the log.
std::string notes_on(const engine::Reply& reply);

}  // namespace lockstep::daemon
