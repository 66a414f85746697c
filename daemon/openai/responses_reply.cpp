#include "daemon/openai/responses_reply.h"

namespace lockstep::daemon::openai {
namespace {

using Item = ResponseDraft::Item;
using Kind = Item::Kind;

json::Object output_text(const std::string& text, const json::Array& logprobs) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", json::Array{}}, {"logprobs", logprobs}};
}

json::Value usage_of(const engine::Reply& reply) {
  const auto output = static_cast<int64_t>(reply.tokens.size());
  json::Object input_details{{"cached_tokens", reply.cached_tokens}};
  json::Object output_details{{"reasoning_tokens", reply.reasoning_tokens}};
  return json::Object{{"input_tokens", reply.prompt_tokens},
                      {"input_tokens_details", std::move(input_details)},
                      {"output_tokens", output},
                      {"output_tokens_details", std::move(output_details)},
                      {"total_tokens", reply.prompt_tokens + output}};
}

}  // namespace

ResponseDraft::ResponseDraft(ReplyHead of_reply, const Request& request)
    : head(std::move(of_reply)), context_(request.response) {
  const auto& all = request.conversation.messages;
  messages_.assign(all.begin() + static_cast<std::ptrdiff_t>(context_->instructions), all.end());
}

std::string ResponseDraft::item_id(const char* prefix) const {
  return prefix + head.id + "_" + std::to_string(items.size());
}

Item& ResponseDraft::item(Kind kind, bool& begun) {
  begun = items.empty() || items.back().kind != kind;
  if (begun) items.push_back({kind, item_id(kind == Kind::message ? "msg_" : "rs_"), {}, {}, 0, {}});
  return items.back();
}

Item& ResponseDraft::next_call(std::string name) {
  std::size_t calls = 0;
  for (const Item& item : items) calls += item.kind == Kind::call;
  items.push_back({Kind::call, item_id("fc_"), {}, std::move(name), calls, {}});
  return items.back();
}

json::Value Item::json(const ReplyHead& of, bool done) const {
  const char* status = done ? "completed" : "in_progress";
  if (kind == Kind::call)
    return json::Object{{"type", "function_call"},         {"id", id},     {"status", status},
                        {"call_id", call_id(of, 0, call)}, {"name", name}, {"arguments", text}};
  json::Array content;
  if (kind == Kind::reasoning) {
    if (done) content.emplace_back(json::Object{{"type", "reasoning_text"}, {"text", text}});
    return json::Object{{"type", "reasoning"},
                        {"id", id},
                        {"summary", json::Array{}},
                        {"content", std::move(content)},
                        {"status", status}};
  }
  if (done) content.emplace_back(output_text(text, logprobs));
  return json::Object{{"type", "message"},
                      {"id", id},
                      {"status", status},
                      {"role", "assistant"},
                      {"content", std::move(content)}};
}

json::Object ResponseDraft::body(const char* status) const {
  json::Array output;
  for (const Item& item : items) output.push_back(item.json(head, true));
  json::Object body{{"id", response_id()}, {"object", "response"},       {"created_at", head.created},
                    {"status", status},    {"error", nullptr},           {"incomplete_details", nullptr},
                    {"model", head.model}, {"output", std::move(output)}};
  body.insert(body.end(), context_->echo.begin(), context_->echo.end());
  body.push_back({"usage", nullptr});
  return body;
}

json::Object ResponseDraft::body(const engine::Reply& reply) const {
  const bool cut = reply.finish == engine::Finish::length;
  json::Object whole = body(cut ? "incomplete" : "completed");
  for (json::Member& member : whole) {
    if (member.key == "incomplete_details" && cut)
      member.value = json::Object{{"reason", "max_output_tokens"}};
    if (member.key == "usage") member.value = usage_of(reply);
  }
  whole.push_back({"lockstep", lockstep_json(head, reply)});
  return whole;
}

KeptResponse ResponseDraft::kept(json::Value body) const {
  KeptResponse kept{response_id(), std::move(body), context_->input, messages_};
  engine::Message said;
  said.role = "assistant";
  for (const Item& item : items) {
    if (item.kind == Kind::reasoning) said.reasoning = said.reasoning.value_or("") + item.text;
    if (item.kind == Kind::message) said.content += item.text;
    if (item.kind == Kind::call) said.calls.push_back({call_id(head, 0, item.call), item.name, item.text});
  }
  kept.messages.push_back(std::move(said));
  return kept;
}

void WholeResponse::add(int, engine::Delta&& delta) {
  bool begun = false;
  if (!delta.reasoning.empty()) draft_.item(Kind::reasoning, begun).text += delta.reasoning;
  if (!delta.content.empty()) {
    Item& item = draft_.item(Kind::message, begun);
    item.text += delta.content;
  }
  for (engine::Delta::Call& call : delta.calls) {
    if (!call.name.empty()) draft_.next_call(std::move(call.name));
    draft_.items.back().text += call.arguments;
  }
  if (draft_.head.logprobs && !draft_.items.empty() && draft_.items.back().kind == Kind::message)
    append_logprobs(delta, draft_.items.back().logprobs);
}

json::Value WholeResponse::body() {
  json::Value body = draft_.body(reply_);
  if (keep_) keep_->keep(draft_.kept(body));
  return body;
}

void StreamedResponse::event(const char* type, json::Object members, StreamEvents& out) {
  json::Object data{{"type", type}, {"sequence_number", sequence_++}};
  data.insert(data.end(), std::make_move_iterator(members.begin()), std::make_move_iterator(members.end()));
  out.push_back({type, std::move(data)});
}

// Where the open item is.
json::Object StreamedResponse::place(bool part) const {
  json::Object members{{"item_id", draft_.items.back().id}, {"output_index", draft_.items.size() - 1}};
  if (part) members.push_back({"content_index", 0});
  return members;
}

void StreamedResponse::open(StreamEvents& out) {
  event("response.created", {{"response", draft_.body("in_progress")}}, out);
  event("response.in_progress", {{"response", draft_.body("in_progress")}}, out);
}

void StreamedResponse::begin_item(StreamEvents& out) {
  open_ = true;
  const Item& item = draft_.items.back();
  event("response.output_item.added",
        {{"output_index", draft_.items.size() - 1}, {"item", item.json(draft_.head, false)}}, out);
  if (item.kind != Kind::message) return;
  json::Object members = place(true);
  members.push_back({"part", output_text("", {})});
  event("response.content_part.added", std::move(members), out);
}

void StreamedResponse::end_item(StreamEvents& out) {
  if (!std::exchange(open_, false)) return;
  const Item& item = draft_.items.back();
  json::Object members = place(item.kind != Kind::call);
  if (item.kind == Kind::call) {
    members.push_back({"name", item.name});
    members.push_back({"arguments", item.text});
    event("response.function_call_arguments.done", std::move(members), out);
  } else {
    members.push_back({"text", item.text});
    if (item.kind == Kind::message) members.push_back({"logprobs", item.logprobs});
    event(item.kind == Kind::message ? "response.output_text.done" : "response.reasoning_text.done",
          std::move(members), out);
  }
  if (item.kind == Kind::message) {
    json::Object part = place(true);
    part.push_back({"part", output_text(item.text, item.logprobs)});
    event("response.content_part.done", std::move(part), out);
  }
  event("response.output_item.done",
        {{"output_index", draft_.items.size() - 1}, {"item", item.json(draft_.head, true)}}, out);
}

void StreamedResponse::text(Kind kind, std::string piece, json::Array logprobs, StreamEvents& out) {
  if (open_ && draft_.items.back().kind != kind) end_item(out);
  bool begun = false;
  Item& item = draft_.item(kind, begun);
  if (begun) begin_item(out);
  item.text += piece;
  item.logprobs.insert(item.logprobs.end(), logprobs.begin(), logprobs.end());
  json::Object members = place(true);
  members.push_back({"delta", std::move(piece)});
  if (kind == Kind::message) members.push_back({"logprobs", std::move(logprobs)});
  event(kind == Kind::message ? "response.output_text.delta" : "response.reasoning_text.delta",
        std::move(members), out);
}

void StreamedResponse::add(int, engine::Delta&& delta, StreamEvents& out) {
  json::Array logprobs;
  if (draft_.head.logprobs) append_logprobs(delta, logprobs);
  if (!delta.reasoning.empty()) text(Kind::reasoning, std::move(delta.reasoning), {}, out);
  if (!delta.content.empty()) text(Kind::message, std::move(delta.content), std::move(logprobs), out);
  for (engine::Delta::Call& call : delta.calls) {
    if (!call.name.empty()) {
      end_item(out);
      draft_.next_call(std::move(call.name));
      begin_item(out);
    }
    if (call.arguments.empty()) continue;
    draft_.items.back().text += call.arguments;
    json::Object members = place(false);
    members.push_back({"delta", std::move(call.arguments)});
    event("response.function_call_arguments.delta", std::move(members), out);
  }
}

void StreamedResponse::finish(int, engine::Reply&& reply, StreamEvents& out) {
  end_item(out);
  json::Value body = draft_.body(reply);
  if (keep_) keep_->keep(draft_.kept(body));
  const bool cut = reply.finish == engine::Finish::length;
  event(cut ? "response.incomplete" : "response.completed", {{"response", std::move(body)}}, out);
}

void StreamedResponse::fail(const ApiError& error, StreamEvents& out) {
  const auto or_null = [](const std::string& word) {
    return word.empty() ? json::Value() : json::Value(word);
  };
  event("error", {{"code", or_null(error.code)}, {"message", error.what()}, {"param", or_null(error.param)}},
        out);
}

}  // namespace lockstep::daemon::openai
