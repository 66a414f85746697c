// One chat from its request to its last event, whichever way it came in. I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bridge.h"
#include "daemon/openai/chat_request.h"
#include "daemon/openai/reply.h"
#include "daemon/peer.h"
#include "daemon/service.h"

namespace lockstep::daemon {

class Exchange {
 public:
  Exchange(Service& service, Peer& peer, Ticket ticket);
  // Cancels the job unless it is over.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Reads the request and prepares its prompt on the pool, then submits it. `read` runs on the pool. Throws
  // ApiError, PeerGone.
  boost::asio::awaitable<void> start(std::function<openai::ChatRequest()> read);

  // Waits for the next events: deltas, at last a Reply. Throws PeerGone, and ApiError if the job fails.
  boost::asio::awaitable<std::vector<Event>> next();

  const openai::ChatRequest& request() const { return request_; }
  openai::ReplyHead head() const;
  // Words of the request's schemas that the reply is not held to.
  const std::vector<std::string>& unenforced() const { return unenforced_; }
  int prompt_tokens() const { return prompt_tokens_; }  // 0 before the prompt is prepared

  // From outside: ends the job with an error that says why.
  void end(const std::string& why);

 private:
  void cancel();
  boost::asio::awaitable<void> look_after_peer();
  void settle(std::vector<Event>& events);
  openai::ApiError shutting_down() const;

  Service& service_;
  Peer& peer_;
  Ticket ticket_;
  openai::ChatRequest request_;
  std::shared_ptr<Bridge> bridge_;
  std::vector<std::string> unenforced_;
  int prompt_tokens_ = 0;
  std::optional<engine::JobId> job_;  // while it runs
  std::string ended_;                 // why, if end() was called
  bool too_slow_ = false;
  std::optional<openai::ApiError> failure_;  // of the engine, to be thrown
  std::string id_;
  int64_t created_;
  std::chrono::steady_clock::time_point last_look_, last_probe_;
};

// Counts and times of a reply, for the log.
std::string notes_on(const engine::Reply& reply);

}  // namespace lockstep::daemon
