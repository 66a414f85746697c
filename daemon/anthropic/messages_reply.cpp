#include "daemon/anthropic/messages_reply.h"

namespace lockstep::daemon::anthropic {
namespace {

using openai::ReplyHead;
using openai::StreamEvents;

std::string_view stop_reason(const engine::Reply& reply) {
  if (!reply.stop.empty()) return "stop_sequence";
  switch (reply.finish) {
    case engine::Finish::length: return "max_tokens";
    case engine::Finish::tool_calls: return "tool_use";
    case engine::Finish::stop: break;
  }
  return "end_turn";
}

json::Value stop_sequence(const engine::Reply& reply) {
  return reply.stop.empty() ? json::Value() : json::Value(reply.stop);
}

json::Object usage(int prompt, int cached, std::size_t completion) {
  return {{"input_tokens", prompt - cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", cached},
          {"output_tokens", completion}};
}

json::Object message(const ReplyHead& head, json::Array content) {
  return {{"id", "msg_" + head.id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", head.model},
          {"content", std::move(content)}};
}

std::string use_id(const ReplyHead& head, std::size_t index) {
  return "toolu_" + head.id + "_" + std::to_string(index);
}

json::Object thinking_block(std::string text) {
  return {{"type", "thinking"}, {"thinking", std::move(text)}, {"signature", ""}};
}
json::Object text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }
json::Object use_block(const ReplyHead& head, std::size_t index, std::string name, json::Value input) {
  return {{"type", "tool_use"},
          {"id", use_id(head, index)},
          {"name", std::move(name)},
          {"input", std::move(input)}};
}

}  // namespace

json::Value WholeMessage::body() {
  json::Array content;
  if (!said_.reasoning.empty()) content.emplace_back(thinking_block(said_.reasoning));
  if (!said_.content.empty() || said_.calls.empty()) content.emplace_back(text_block(said_.content));
  for (std::size_t i = 0; i < said_.calls.size(); ++i)
    content.emplace_back(use_block(head_, i, said_.calls[i].name, json::parse(said_.calls[i].arguments)));
  json::Object body = message(head_, std::move(content));
  body.push_back({"stop_reason", stop_reason(reply_)});
  body.push_back({"stop_sequence", stop_sequence(reply_)});
  body.push_back({"usage", usage(reply_.prompt_tokens, reply_.cached_tokens, reply_.tokens.size())});
  body.push_back({"lockstep", openai::lockstep_json(head_, reply_)});
  return body;
}

void StreamedMessage::open(StreamEvents& out) {
  json::Object begun = message(head_, {});
  begun.push_back({"stop_reason", nullptr});
  begun.push_back({"stop_sequence", nullptr});
  begun.push_back({"usage", usage(head_.prompt_tokens, 0, 0)});
  out.push_back({"message_start", json::Object{{"type", "message_start"}, {"message", std::move(begun)}}});
}

void StreamedMessage::begin(Block kind, json::Object block, StreamEvents& out) {
  end(out);
  block_ = kind;
  out.push_back({"content_block_start", json::Object{{"type", "content_block_start"},
                                                     {"index", ++index_},
                                                     {"content_block", std::move(block)}}});
}

void StreamedMessage::end(StreamEvents& out) {
  if (block_ != Block::none)
    out.push_back({"content_block_stop", json::Object{{"type", "content_block_stop"}, {"index", index_}}});
  block_ = Block::none;
}

void StreamedMessage::delta(const char* type, const char* member, std::string text, StreamEvents& out) {
  json::Object delta{{"type", type}, {member, std::move(text)}};
  out.push_back(
      {"content_block_delta",
       json::Object{{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(delta)}}});
}

void StreamedMessage::add(int, engine::Delta&& said, StreamEvents& out) {
  if (!said.reasoning.empty()) {
    if (block_ != Block::thinking) begin(Block::thinking, thinking_block(""), out);
    delta("thinking_delta", "thinking", std::move(said.reasoning), out);
  }
  if (!said.content.empty()) {
    if (block_ != Block::text) begin(Block::text, text_block(""), out);
    delta("text_delta", "text", std::move(said.content), out);
  }
  for (engine::Delta::Call& call : said.calls) {
    if (!call.name.empty())
      begin(Block::call,
            use_block(head_, static_cast<std::size_t>(call.index), std::move(call.name), json::Object{}),
            out);
    if (!call.arguments.empty()) delta("input_json_delta", "partial_json", std::move(call.arguments), out);
  }
}

void StreamedMessage::finish(int, engine::Reply&& reply, StreamEvents& out) {
  if (index_ < 0) begin(Block::text, text_block(""), out);
  end(out);
  json::Object delta{{"stop_reason", stop_reason(reply)}, {"stop_sequence", stop_sequence(reply)}};
  out.push_back({"message_delta",
                 json::Object{{"type", "message_delta"},
                              {"delta", std::move(delta)},
                              {"usage", usage(reply.prompt_tokens, reply.cached_tokens, reply.tokens.size())},
                              {"lockstep", openai::lockstep_json(head_, reply)}}});
  out.push_back({"message_stop", json::Object{{"type", "message_stop"}}});
}

void StreamedMessage::fail(const openai::ApiError& error, StreamEvents& out) {
  out.push_back({"error", error_json(error)});
}

json::Value error_json(const openai::ApiError& error) {
  const auto type = [&error]() -> const char* {
    switch (error.status) {
      case 401: return "authentication_error";
      case 403: return "permission_error";
      case 404: return "not_found_error";
      case 413: return "request_too_large";
      case 429: return "rate_limit_error";
      case 500: return "api_error";
      case 503: return "overloaded_error";
    }
    return "invalid_request_error";
  };
  json::Object about{{"type", type()}, {"message", error.what()}};
  return json::Object{{"type", "error"}, {"error", std::move(about)}};
}

}  // namespace lockstep::daemon::anthropic
