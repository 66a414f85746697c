// Replies in the shape of OpenAI's Responses API: a response with output items, or the events that make one.
#pragma once

#include <memory>
#include <string>

#include "daemon/openai/reply.h"
#include "daemon/openai/request.h"
#include "daemon/openai/responses_request.h"

namespace lockstep::daemon::openai {

// The response as it grows: output items in their order, reasoning first, then text, then calls.
class ResponseDraft {
 public:
  ResponseDraft(ReplyHead head, const Request& request);

  struct Item {
    enum class Kind { reasoning, message, call } kind;
    std::string id;
    std::string text;  // of a call: its arguments
    std::string name;  // of a call
    std::size_t call = 0;
    json::Array logprobs;
    json::Value json(const ReplyHead& head, bool done) const;
  };

  // The open item if it is of this kind, else a new one.
  Item& item(Item::Kind kind, bool& begun);
  Item& next_call(std::string name);
  json::Object body(const char* status) const;
  json::Object body(const engine::Reply& reply) const;
  // For the store, once the reply is there.
  KeptResponse kept(json::Value body) const;

  ReplyHead head;
  std::vector<Item> items;
  std::string response_id() const { return "resp_" + head.id; }

 private:
  std::string item_id(const char* prefix) const;
  std::vector<engine::Message> messages_;  // without instructions
  std::shared_ptr<const ResponseContext> context_;
};

class WholeResponse : public WholeShape {
 public:
  WholeResponse(ReplyHead head, const Request& request, ResponsesStore& store)
      : draft_(std::move(head), request), keep_(request.response->store ? &store : nullptr) {}
  void add(int, engine::Delta&& delta) override;
  void finish(int, engine::Reply&& reply) override { reply_ = std::move(reply); }
  json::Value body() override;

 private:
  ResponseDraft draft_;
  ResponsesStore* keep_;
  engine::Reply reply_;
};

class StreamedResponse : public StreamShape {
 public:
  StreamedResponse(ReplyHead head, const Request& request, ResponsesStore& store)
      : draft_(std::move(head), request), keep_(request.response->store ? &store : nullptr) {}
  void open(StreamEvents& out) override;
  void add(int, engine::Delta&& delta, StreamEvents& out) override;
  void finish(int, engine::Reply&& reply, StreamEvents& out) override;
  void close(StreamEvents&) override {}
  void fail(const ApiError& error, StreamEvents& out) override;
  std::string_view last_words() const override { return {}; }

 private:
  void event(const char* type, json::Object members, StreamEvents& out);
  json::Object place(bool part) const;
  void text(ResponseDraft::Item::Kind kind, std::string piece, json::Array logprobs, StreamEvents& out);
  void begin_item(StreamEvents& out);
  void end_item(StreamEvents& out);

  ResponseDraft draft_;
  ResponsesStore* keep_;
  bool open_ = false;  // the last item
  int sequence_ = 0;
};

}  // namespace lockstep::daemon::openai
