// Replies in OpenAI's shape: chat.completion, and chat.completion.chunk for streams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/json/value.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

// What all pieces of one reply have in common.
struct ReplyHead {
  std::string id;       // "chatcmpl-…"
  int64_t created = 0;  // seconds since 1970
  std::string model;    // the served model's name
  std::string fingerprint;
  int canon_version = 0;
  bool logprobs = false;  // wanted by the request
};

// {"prompt_tokens", "completion_tokens", "total_tokens", …_details}
json::Value usage_json(const engine::Reply& reply);

// What lockstep says beyond OpenAI: token_sha (12 digits and whole), seed, model fingerprint, canon version,
// counts and timings.
json::Value lockstep_json(const ReplyHead& head, const engine::Reply& reply);

// The id of the reply's call of this index.
std::string call_id(const ReplyHead& head, std::size_t index);

std::string_view finish_name(engine::Finish finish);

// Collects a reply that is sent whole.
class WholeReply {
 public:
  explicit WholeReply(ReplyHead head) : head_(std::move(head)) {}
  void add(engine::Delta&& delta);
  json::Value finish(const engine::Reply& reply) const;

 private:
  struct Call {
    std::string name, arguments;
  };
  ReplyHead head_;
  std::string reasoning_, content_;
  std::vector<Call> calls_;
  json::Array logprobs_;
};

// Makes the chunks of a streamed reply; the caller frames them.
class StreamedReply {
 public:
  StreamedReply(ReplyHead head, bool include_usage) : head_(std::move(head)), include_usage_(include_usage) {}
  json::Value opening() const;                     // the role
  json::Value piece(engine::Delta&& delta) const;  // text, pieces of calls, log-probabilities
  // finish_reason, and with include_usage one more with the usage and no choices. The last carries the
  // lockstep object.
  std::vector<json::Value> closing(const engine::Reply& reply) const;

 private:
  json::Object chunk(json::Array choices) const;
  json::Array choice(json::Value delta, json::Value finish, json::Value logprobs) const;

  ReplyHead head_;
  bool include_usage_;
};

}  // namespace lockstep::daemon::openai
