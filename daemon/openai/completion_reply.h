// Replies of completions: text_completion, whole or as chunks of the same shape.
#pragma once

#include <string>
#include <vector>

#include "daemon/openai/reply.h"

namespace lockstep::daemon::openai {

// The four parallel arrays of log-probabilities.
struct TextLogprobs {
  json::Array tokens, token_logprobs, top_logprobs, text_offset;
  // `offset`: characters of the text before these tokens; moves on.
  void add(const std::vector<engine::TokenLogprob>& more, std::size_t& offset);
  json::Value json() &&;
};

class WholeCompletion : public WholeShape {
 public:
  // `echoes`: what each prompt's replies begin with; empty: nothing.
  WholeCompletion(ReplyHead head, const std::vector<std::string>& echoes);
  void add(int choice, engine::Delta&& delta) override;
  void finish(int choice, engine::Reply&& reply) override;
  json::Value body() override;

 private:
  struct Choice {
    std::string text;
    TextLogprobs logprobs;
    std::size_t offset = 0;
    engine::Reply reply;
  };
  const ReplyHead head_;
  std::vector<Choice> choices_;
  Usage usage_;
};

class StreamedCompletion : public StreamedChunks {
 public:
  StreamedCompletion(ReplyHead head, std::vector<std::string> echoes);
  void open(StreamEvents& out) override;
  void add(int choice, engine::Delta&& delta, StreamEvents& out) override;

 private:
  json::Object chunk(json::Array choices) const override;
  json::Array last_choice(int index, json::Value finish) const override;
  json::Array choice(int index, json::Value text, json::Value finish, json::Value logprobs) const;

  void echo(int index, json::Value logprobs, StreamEvents& out) const;

  std::vector<std::string> echoes_;
  std::vector<TextLogprobs> prompts_;  // of each choice, until its reply begins
  std::vector<std::size_t> offsets_;   // likewise
};

}  // namespace lockstep::daemon::openai
