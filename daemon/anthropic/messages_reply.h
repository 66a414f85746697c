// Replies in the shape of Anthropic's Messages API: a message, or the events that make one.
#pragma once

#include <string>

#include "daemon/openai/reply.h"

namespace lockstep::daemon::anthropic {

class WholeMessage : public openai::WholeShape {
 public:
  explicit WholeMessage(openai::ReplyHead head) : head_(std::move(head)) {}
  void add(int, engine::Delta&& delta) override { said_.add(delta); }
  void finish(int, engine::Reply&& reply) override { reply_ = std::move(reply); }
  json::Value body() override;

 private:
  const openai::ReplyHead head_;
  openai::Collected said_;
  engine::Reply reply_;
};

// message_start; for each block content_block_start, content_block_delta, content_block_stop; message_delta;
// message_stop.
class StreamedMessage : public openai::StreamShape {
 public:
  explicit StreamedMessage(openai::ReplyHead head) : head_(std::move(head)) {}
  void open(openai::StreamEvents& out) override;
  void add(int, engine::Delta&& delta, openai::StreamEvents& out) override;
  void finish(int, engine::Reply&& reply, openai::StreamEvents& out) override;
  void close(openai::StreamEvents&) override {}
  void fail(const openai::ApiError& error, openai::StreamEvents& out) override;
  std::string_view last_words() const override { return {}; }

 private:
  enum class Block { none, thinking, text, call };
  void begin(Block kind, json::Object block, openai::StreamEvents& out);
  void end(openai::StreamEvents& out);
  void delta(const char* type, const char* member, std::string text, openai::StreamEvents& out);

  const openai::ReplyHead head_;
  Block block_ = Block::none;  // that is open
  int index_ = -1;             // of the block begun last
};

// {"type": "error", "error": {"type", "message"}}
json::Value error_json(const openai::ApiError& error);

}  // namespace lockstep::daemon::anthropic
