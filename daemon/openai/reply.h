// What replies of every endpoint have in common, and the shape of chat completions: chat.completion, and
// chat.completion.chunk for streams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/json/value.h"
#include "daemon/openai/shape.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

// What all pieces of one request's replies have in common.
struct ReplyHead {
  std::string id;       // 24 hexadecimal digits
  int64_t created = 0;  // seconds since 1970
  std::string model;    // the served model's name
  std::string fingerprint;
  int canon_version = 0;
  bool logprobs = false;       // wanted by the request
  bool include_usage = false;  // in a stream
  int choices = 1;             // replies that will come
  int replies_a_prompt = 1;    // so many of them in turn share a prompt
  int prompt_tokens = 0;       // of all prompts
  engine::Sampling sampling;   // as it holds for these replies
  bool held_to_form = false;   // they must fit a schema, or be calls
};

// Counts of tokens over the replies of a request; a prompt that several replies share counts once.
class Usage {
 public:
  explicit Usage(int replies_a_prompt) : replies_a_prompt_(replies_a_prompt) {}
  void add(int choice, const engine::Reply& reply);

  int64_t prompt = 0, cached = 0, completion = 0, reasoning = 0;
  // {"prompt_tokens", "completion_tokens", "total_tokens", …_details}
  json::Value json() const;

 private:
  int replies_a_prompt_;
};

// What lockstep says beyond OpenAI: token_sha (12 digits and whole), the prompt's hash, seed, model
// fingerprint, canon version, parameters, counts and timings. Of several replies the first has it, and each
// its own in its choice.
json::Value lockstep_json(const ReplyHead& head, const engine::Reply& reply);

// "canon1-" and the first 12 digits of the model's fingerprint.
std::string system_fingerprint(const ReplyHead& head);

// The id of a reply's call of this index.
std::string call_id(const ReplyHead& head, int choice, std::size_t index);

std::string_view finish_name(engine::Finish finish);

// Entries of "token", "logprob", "bytes" and "top_logprobs".
void append_logprobs(const engine::Delta& delta, json::Array& out);

// A token's text; bytes that are no whole character are written as \xNN.
std::string token_text(const std::string& bytes);

// A reply's text and calls, collected.
struct Collected {
  struct Call {
    std::string name, arguments;
  };
  std::string reasoning, content;
  std::vector<Call> calls;
  void add(engine::Delta& delta);
};

class WholeChat : public WholeShape {
 public:
  explicit WholeChat(ReplyHead head);
  void add(int choice, engine::Delta&& delta) override;
  void finish(int choice, engine::Reply&& reply) override;
  json::Value body() override;

 private:
  struct Choice {
    Collected said;
    json::Array logprobs;
    engine::Reply reply;
  };
  json::Value message(int index) const;

  const ReplyHead head_;
  std::vector<Choice> choices_;
  Usage usage_;
};

// What streams of chunks with choices have in common: how choices and the stream end.
class StreamedChunks : public StreamShape {
 public:
  explicit StreamedChunks(ReplyHead head) : head_(std::move(head)), usage_(head_.replies_a_prompt) {}
  void finish(int choice, engine::Reply&& reply, StreamEvents& out) override;  // finish_reason
  // With include_usage one more chunk with the usage and no choices. The last chunk has the lockstep object.
  void close(StreamEvents& out) override;
  void fail(const ApiError& error, StreamEvents& out) override;

 protected:
  virtual json::Object chunk(json::Array choices) const = 0;
  virtual json::Array last_choice(int index, json::Value finish) const = 0;
  const ReplyHead head_;

 private:
  Usage usage_;
  json::Value lockstep_;
  json::Object last_;  // the last finish_reason, held back for the lockstep object
};

class StreamedChat : public StreamedChunks {
 public:
  using StreamedChunks::StreamedChunks;
  void open(StreamEvents& out) override;                                    // the roles
  void add(int choice, engine::Delta&& delta, StreamEvents& out) override;  // text, pieces of calls

 private:
  json::Object chunk(json::Array choices) const override;
  json::Array last_choice(int index, json::Value finish) const override;
  json::Array choice(int index, json::Value delta, json::Value finish, json::Value logprobs) const;
};

}  // namespace lockstep::daemon::openai
