#include "daemon/local_messages.h"

#include <utility>

namespace lockstep::daemon {
namespace {

json::Value message_json(const ipc::Message& message) {
  json::Object out{{"role", message.role}, {"content", message.content}};
  if (message.reasoning) out.push_back({"reasoning_content", *message.reasoning});
  if (!message.call_id.empty()) out.push_back({"tool_call_id", message.call_id});
  json::Array calls;
  for (const ipc::ToolCall& call : message.calls) {
    json::Object function{{"name", call.name}, {"arguments", call.arguments}};
    calls.emplace_back(
        json::Object{{"id", call.id}, {"type", "function"}, {"function", std::move(function)}});
  }
  if (!calls.empty()) out.push_back({"tool_calls", std::move(calls)});
  return out;
}

json::Value tool_json(const std::string& text, std::size_t index) {
  try {
    return json::parse(text);
  } catch (const json::ParseError& error) {
    throw openai::invalid(error.what(), "tools[" + std::to_string(index) + "]");
  }
}

}  // namespace

json::Value to_chat_body(const ipc::Chat& chat) {
  json::Object body;
  const auto add = [&body](const char* name, const auto& value) {
    if (value) body.push_back({name, *value});
  };
  json::Array messages, tools, stop;
  for (const ipc::Message& message : chat.messages) messages.push_back(message_json(message));
  for (const std::string& tool : chat.tools) tools.push_back(tool_json(tool, tools.size()));
  for (const std::string& text : chat.stop) stop.emplace_back(text);
  body.push_back({"messages", std::move(messages)});
  body.push_back({"tools", std::move(tools)});
  body.push_back({"stop", std::move(stop)});
  if (chat.thinking)
    body.push_back({"chat_template_kwargs", json::Object{{"enable_thinking", *chat.thinking}}});
  add("max_tokens", chat.max_tokens);
  add("temperature", chat.temperature);
  add("top_p", chat.top_p);
  add("min_p", chat.min_p);
  add("top_k", chat.top_k);
  add("seed", chat.seed);
  return body;
}

ipc::Delta to_local(engine::Delta&& delta) {
  ipc::Delta out{std::move(delta.content), std::move(delta.reasoning), {}};
  for (engine::Delta::Call& call : delta.calls)
    out.calls.push_back({call.index, std::move(call.name), std::move(call.arguments)});
  return out;
}

ipc::Final to_local(const openai::ReplyHead& head, const engine::Reply& reply) {
  ipc::Final out;
  out.finish = openai::finish_name(reply.finish);
  out.prompt_tokens = reply.prompt_tokens;
  out.cached_tokens = reply.cached_tokens;
  out.reply_tokens = static_cast<int>(reply.tokens.size());
  out.reasoning_tokens = reply.reasoning_tokens;
  out.token_sha = reply.token_sha;
  out.seed = reply.seed;
  out.model = head.model;
  out.fingerprint = head.fingerprint;
  out.canon_version = head.canon_version;
  out.queue_seconds = reply.queue_seconds;
  out.prompt_seconds = reply.prompt_seconds;
  out.decode_seconds = reply.decode_seconds;
  return out;
}

ipc::Error to_local(const openai::ApiError& error) {
  using Kind = ipc::Error::Kind;
  ipc::Error out;
  out.message = error.what();
  out.field = error.param;
  if (error.code == "context_length_exceeded") {
    out.kind = Kind::context_overflow;
  } else if (error.status == 429) {
    out.kind = Kind::busy;
  } else if (error.status == 503) {
    out.kind = Kind::not_ready;
  } else {
    out.kind = error.status < 500 ? Kind::bad_request : Kind::device_fault;
  }
  return out;
}

std::vector<ipc::Model> local_models(const Service& service) {
  std::vector<ipc::Model> models;
  if (!service.has_engine()) return models;
  const engine::ModelInfo& info = service.engine().model();
  ipc::Model model;
  model.name = info.name;
  model.family = info.family;
  model.fingerprint = info.fingerprint;
  model.canon_version = info.canon_version;
  model.context = info.context;
  model.vocabulary = info.vocabulary;
  model.created = info.created;
  model.device = info.device;
  model.device_description = info.device_description;
  models.push_back(std::move(model));
  return models;
}

ipc::Status local_status(const Service& service) {
  static constexpr const char* states[] = {"starting", "ready", "stopping"};
  ipc::Status out;
  out.version = LOCKSTEP_VERSION;
  out.state = states[static_cast<std::size_t>(service.state())];
  out.uptime_seconds = service.uptime().count();
  if (!service.has_engine()) return out;
  const engine::Status status = service.engine().status();
  out.model = service.engine().model().name;
  out.device = service.engine().model().device;
  out.active = status.active;
  out.queued = status.queued;
  out.served = status.served;
  out.cancelled = status.cancelled;
  out.refused = status.refused;
  out.failed = status.failed;
  out.prompt_tokens = status.prompt_tokens;
  out.reply_tokens = status.reply_tokens;
  out.rounds = status.rounds;
  for (const engine::Status::Pool& pool : status.memory)
    out.memory.push_back({pool.name, pool.bytes, pool.used});
  return out;
}

void LocalWhole::add(engine::Delta&& delta) {
  whole_.content += delta.content;
  whole_.reasoning += delta.reasoning;
  for (engine::Delta::Call& call : delta.calls) {
    const auto index = static_cast<std::size_t>(call.index);
    if (whole_.calls.size() <= index) whole_.calls.resize(index + 1);
    whole_.calls[index].name += call.name;
    whole_.calls[index].arguments += call.arguments;
  }
}

ipc::Whole LocalWhole::take(const openai::ReplyHead& head) {
  for (std::size_t i = 0; i < whole_.calls.size(); ++i) whole_.calls[i].id = openai::call_id(head, i);
  return std::move(whole_);
}

}  // namespace lockstep::daemon
