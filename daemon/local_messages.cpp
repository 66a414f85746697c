#include "daemon/local_messages.h"

#include <chrono>
#include <utility>

#include "daemon/exchange.h"
#include "daemon/limits.h"
#include "daemon/receipts.h"

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

json::Object conversation_json(const ipc::Conversation& conversation) {
  json::Object body;
  json::Array messages, tools;
  for (const ipc::Message& message : conversation.messages) messages.push_back(message_json(message));
  for (const std::string& tool : conversation.tools) tools.push_back(tool_json(tool, tools.size()));
  body.push_back({"messages", std::move(messages)});
  body.push_back({"tools", std::move(tools)});
  if (conversation.thinking)
    body.push_back({"chat_template_kwargs", json::Object{{"enable_thinking", *conversation.thinking}}});
  return body;
}

void add_sampling(json::Object& body, const ipc::Sampling& sampling) {
  const auto add = [&body](const char* name, const auto& value) {
    if (value) body.push_back({name, *value});
  };
  json::Array stop;
  for (const std::string& text : sampling.stop) stop.emplace_back(text);
  body.push_back({"stop", std::move(stop)});
  add("max_tokens", sampling.max_tokens);
  add("temperature", sampling.temperature);
  add("top_p", sampling.top_p);
  add("min_p", sampling.min_p);
  add("top_k", sampling.top_k);
  add("seed", sampling.seed);
}

}  // namespace

openai::Request to_request(const ipc::Chat& chat, const engine::Sampling& defaults) {
  json::Object body = conversation_json(chat);
  add_sampling(body, chat);
  openai::Request request = openai::read_chat_request(json::Value(std::move(body)), defaults);
  request.receipt = chat.receipt;
  return request;
}

openai::Request to_request(const ipc::Complete& complete, const engine::Sampling& defaults) {
  if (complete.prompt.empty()) throw openai::invalid("'prompt' must not be empty", "prompt");
  ipc::Conversation none;
  none.messages.push_back({"user", "", {}, {}, {}});
  json::Object body = conversation_json(none);
  add_sampling(body, complete);
  openai::Request request = openai::read_chat_request(json::Value(std::move(body)), defaults);
  request.texts = {complete.prompt};
  request.receipt = complete.receipt;
  return request;
}

std::vector<int32_t> tokens_of(const ipc::Tokenize& tokenize, const engine::Engine& engine,
                               const engine::Sampling& defaults) {
  std::vector<int32_t> tokens;
  if (const auto* text = std::get_if<std::string>(&tokenize.what)) {
    tokens = engine.tokenize(*text);
  } else {
    const auto& conversation = std::get<ipc::Conversation>(tokenize.what);
    const json::Value body(conversation_json(conversation));
    try {
      tokens = engine.prepare(openai::read_chat_request(body, defaults).conversation).tokens;
    } catch (const engine::RequestError& error) {
      throw openai::from_engine(error);
    }
  }
  if (tokens.size() > limits::tokens_told)
    throw openai::invalid("these are " + std::to_string(tokens.size()) + " tokens; at most " +
                              std::to_string(limits::tokens_told) + " are told: give a part of the text",
                          "text");
  return tokens;
}

ipc::Delta to_local(engine::Delta&& delta) {
  ipc::Delta out{std::move(delta.content), std::move(delta.reasoning), {}};
  for (engine::Delta::Call& call : delta.calls)
    out.calls.push_back({call.index, std::move(call.name), std::move(call.arguments)});
  return out;
}

ipc::Final to_local(const openai::ReplyHead& head, const engine::Reply& reply) {
  ipc::Final out;
  out.id = head.id;
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
  out.prompt_sha = reply.prompt_sha;
  out.parameters = parameters_of(head.sampling);
  out.queue_seconds = reply.queue_seconds;
  out.prompt_seconds = reply.prompt_seconds;
  out.decode_seconds = reply.decode_seconds;
  return out;
}

ipc::Request to_local(const Exchange& exchange) {
  ipc::Request out;
  out.id = exchange.id();
  out.method = exchange.method();
  out.state = exchange.state();
  out.caller.uid = exchange.caller().uid;
  out.caller.pid = exchange.caller().pid;
  out.prompt_tokens = exchange.prompt_tokens();
  out.reply_tokens = exchange.reply_tokens();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - exchange.begun();
  out.seconds = taken.count();
  return out;
}

ipc::Account to_local(const Account& account) {
  ipc::Account out;
  out.uid = account.uid;
  out.active = account.requests;
  out.served = account.served;
  out.cancelled = account.cancelled;
  out.refused = account.refused;
  out.failed = account.failed;
  out.prompt_tokens = account.prompt_tokens;
  out.reply_tokens = account.reply_tokens;
  return out;
}

ipc::Error to_local(const openai::ApiError& error) {
  using Kind = ipc::Error::Kind;
  ipc::Error out;
  out.message = error.what();
  out.field = error.param;
  if (error.code == "context_length_exceeded") {
    out.kind = Kind::context_overflow;
  } else if (error.code == "request_cancelled") {
    out.kind = Kind::cancelled;
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

ipc::Status local_status(const Service& service, const Caller& caller) {
  static constexpr const char* states[] = {"starting", "ready", "stopping"};
  ipc::Status out;
  out.version = LOCKSTEP_VERSION;
  out.state = states[static_cast<std::size_t>(service.state())];
  out.uptime_seconds = service.uptime().count();
  out.lanes = service.configuration().engine.lanes;
  out.queue = service.configuration().engine.queue;
  for (const Exchange* exchange : service.exchanges(caller)) out.requests.push_back(to_local(*exchange));
  for (const Account& account : service.accounts().seen_by(caller)) out.accounts.push_back(to_local(account));
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
  out.cache = {status.cache.hits, status.cache.misses, status.cache.stored, status.cache.evicted,
               status.cache.reused_tokens};
  for (const engine::Status::Pool& pool : status.memory)
    out.memory.push_back({pool.name, pool.bytes, pool.used});
  return out;
}

ipc::LawCount to_local(const engine::LawCount& law) { return {law.law, law.passed, law.failed, law.skipped}; }

ipc::SnapshotList local_snapshots(const Service& service) {
  const engine::Options& options = service.configuration().engine;
  ipc::SnapshotList out;
  if (options.snapshots.empty()) return out;
  out.directory = options.snapshots.string();
  out.budget = options.snapshot_budget;
  try {
    const engine::SnapshotFiles found = engine::snapshots_in(options.snapshots);
    out.bytes = found.bytes;
    out.pages = found.pages;
    out.entries = found.entries.size();
    for (const engine::SnapshotEntry& entry : found.entries) {
      if (out.snapshots.size() == limits::snapshots_told) break;
      out.snapshots.push_back({entry.root, entry.tokens, entry.bytes, entry.used, entry.system});
    }
  } catch (const engine::SnapshotError&) {  // a directory that cannot be used holds nothing
  }
  return out;
}

bool same_but_time(const ipc::Status& a, const ipc::Status& b) {
  const auto text = [](ipc::Status status) {
    status.uptime_seconds = 0;
    for (ipc::Request& request : status.requests) request.seconds = 0;
    return ipc::status_reply(status, true);
  };
  return text(a) == text(b);
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
  for (std::size_t i = 0; i < whole_.calls.size(); ++i) whole_.calls[i].id = openai::call_id(head, 0, i);
  return std::move(whole_);
}

}  // namespace lockstep::daemon
