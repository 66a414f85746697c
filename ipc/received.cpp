// What a client sends and receives, as values.
#include "ipc/connection.h"
#include "ipc/fields.h"
#include "ipc/json_reader.h"
#include "ipc/json_writer.h"
#include "ipc/receipt_fields.h"

namespace lockstep::ipc {

namespace {

constexpr int most_reply_values = 2'000'000;  // Tokenize may tell a million

// Runs `read` and turns whatever is wrong with the text into a ProtocolError.
template <class Read>
auto reading(std::string_view text, Read read) {
  try {
    return read(JsonValue::parse(text, most_depth, most_reply_values));
  } catch (const JsonError& error) {
    throw ProtocolError(std::string("the daemon's reply is ") + error.what());
  } catch (const FieldError& error) {
    throw ProtocolError("the daemon's reply is not understood: " + error.path + " " + error.what());
  }
}

std::string needed_text(Fields& fields, std::string_view name) {
  return needed(fields, name, fields.text(name));
}
int needed_integer(Fields& fields, std::string_view name) {
  return needed(fields, name, fields.integer(name));
}
uint64_t needed_unsigned(Fields& fields, std::string_view name) {
  return needed(fields, name, fields.unsigned_integer(name));
}
std::optional<uint32_t> uid_of(Fields& fields) {
  const auto uid = fields.unsigned_integer("uid");
  if (uid && *uid > UINT32_MAX) fields.fail("uid", "must fit in 32 bits");
  return uid ? std::optional(static_cast<uint32_t>(*uid)) : std::nullopt;
}
std::vector<JsonValue> elements(Fields& fields, std::string_view name) {
  return fields.array(name).value_or(std::vector<JsonValue>{});
}

Delta read_delta(JsonValue value) {
  Fields fields(value, "delta");
  Delta delta{fields.text("content").value_or(""), fields.text("reasoning").value_or(""), {}};
  for (const JsonValue& element : elements(fields, "toolCalls")) {
    Fields piece(element, element_path("delta.toolCalls", delta.calls.size()));
    delta.calls.push_back({needed_integer(piece, "index"), piece.text("name").value_or(""),
                           piece.text("arguments").value_or("")});
  }
  return delta;
}

std::optional<Whole> read_whole(Fields& fields) {
  const auto content = fields.text("content");
  if (!content) return std::nullopt;
  Whole whole{*content, fields.text("reasoning").value_or(""), {}};
  for (const JsonValue& element : elements(fields, "toolCalls")) {
    Fields call(element, element_path("final.toolCalls", whole.calls.size()));
    whole.calls.push_back(
        {call.text("id").value_or(""), needed_text(call, "name"), needed_text(call, "arguments")});
  }
  return whole;
}

Accepted read_accepted(JsonValue value) {
  Fields fields(value, "accepted");
  return {needed_text(fields, "id"), needed_integer(fields, "promptTokens")};
}

Request read_request(JsonValue value, const std::string& path) {
  Fields fields(value, path);
  Request request;
  request.id = needed_text(fields, "id");
  request.method = needed_text(fields, "method");
  request.state = needed_text(fields, "state");
  request.caller = {uid_of(fields), fields.integer("pid")};
  request.prompt_tokens = needed_integer(fields, "promptTokens");
  request.reply_tokens = needed_integer(fields, "replyTokens");
  request.seconds = fields.number("seconds").value_or(0);
  return request;
}

Account read_account(JsonValue value, const std::string& path) {
  Fields fields(value, path);
  Account account;
  account.uid = uid_of(fields);
  account.active = needed_integer(fields, "active");
  account.served = needed_unsigned(fields, "served");
  account.cancelled = needed_unsigned(fields, "cancelled");
  account.refused = needed_unsigned(fields, "refused");
  account.failed = needed_unsigned(fields, "failed");
  account.prompt_tokens = needed_unsigned(fields, "promptTokens");
  account.reply_tokens = needed_unsigned(fields, "replyTokens");
  return account;
}

Final read_final(JsonValue value) {
  Fields fields(value, "final");
  Fields usage(needed(fields, "usage", fields.object("usage")), "final.usage");
  Fields timings(needed(fields, "timings", fields.object("timings")), "final.timings");
  Final final;
  final.id = fields.text("id").value_or("");
  final.finish = needed_text(fields, "finish");
  final.prompt_tokens = needed_integer(usage, "promptTokens");
  final.cached_tokens = needed_integer(usage, "cachedTokens");
  final.reply_tokens = needed_integer(usage, "replyTokens");
  final.reasoning_tokens = needed_integer(usage, "reasoningTokens");
  final.token_sha = needed_text(fields, "tokenSha");
  final.seed = needed_unsigned(fields, "seed");
  final.model = needed_text(fields, "model");
  final.fingerprint = needed_text(fields, "fingerprint");
  final.canon_version = needed_integer(fields, "canonVersion");
  final.queue_seconds = timings.number("queueSeconds").value_or(0);
  final.prompt_seconds = timings.number("promptSeconds").value_or(0);
  final.decode_seconds = timings.number("decodeSeconds").value_or(0);
  final.prompt_sha = fields.text("promptSha").value_or("");
  if (const auto parameters = fields.object("parameters")) {
    Fields of(*parameters, "final.parameters");
    read_sampling(of, final.parameters);
  }
  final.whole = read_whole(fields);
  if (const auto receipt = fields.object("receipt")) final.receipt = read_receipt(*receipt, "final.receipt");
  return final;
}

Error read_error(const std::string& name, std::optional<JsonValue> parameters) {
  const std::string own = std::string(interface_name) + ".";
  const std::string text = parameters ? std::string(parameters->text()) : "";
  if (name == "org.varlink.service.PermissionDenied") return {Error::Kind::permission_denied, name};
  if (name.compare(0, own.size(), own) != 0 || !parameters) return {Error::Kind::other, name + " " + text};
  Fields fields(*parameters, "parameters");
  const std::string kind = name.substr(own.size());
  Error error;
  error.message = fields.text("message").value_or("");
  if (kind == "Busy") {
    error.kind = Error::Kind::busy;
  } else if (kind == "ContextOverflow") {
    error.kind = Error::Kind::context_overflow;
    error.limit = needed(fields, "limit", fields.long_integer("limit"));
    error.given = needed(fields, "given", fields.long_integer("given"));
  } else if (kind == "BadRequest") {
    error.kind = Error::Kind::bad_request;
    error.field = needed_text(fields, "field");
  } else if (kind == "NotReady") {
    error.kind = Error::Kind::not_ready;
  } else if (kind == "DeviceFault") {
    error.kind = Error::Kind::device_fault;
  } else if (kind == "Cancelled") {
    error.kind = Error::Kind::cancelled;
  } else if (kind == "NoSuchRequest") {
    error.kind = Error::Kind::no_such_request;
    error.field = needed_text(fields, "id");
  } else {
    error.message = name + " " + text;
  }
  return error;
}

void write_message(JsonWriter& json, const Message& message) {
  json.begin_object().key("role").text(message.role).key("content").text(message.content);
  if (message.reasoning) json.key("reasoning").text(*message.reasoning);
  if (!message.calls.empty()) {
    json.key("toolCalls").begin_array();
    for (const ToolCall& call : message.calls) {
      json.begin_object();
      if (!call.id.empty()) json.key("id").text(call.id);
      json.key("name").text(call.name).key("arguments").text(call.arguments).end_object();
    }
    json.end_array();
  }
  if (message.role == "tool") json.key("toolCallId").text(message.call_id);
  json.end_object();
}

void write_conversation(JsonWriter& json, const Conversation& conversation) {
  json.key("messages").begin_array();
  for (const Message& message : conversation.messages) write_message(json, message);
  json.end_array();
  if (!conversation.tools.empty()) {
    json.key("tools").begin_array();
    for (const std::string& tool : conversation.tools) json.raw(tool);
    json.end_array();
  }
  if (conversation.thinking) json.key("thinking").boolean(*conversation.thinking);
}

}  // namespace

Reply read_reply(std::string_view message) {
  return reading(message, [](JsonValue value) {
    Fields fields(value, "");
    const auto error = fields.text("error");
    const auto parameters = fields.object("parameters");
    Reply reply;
    reply.continues = fields.boolean("continues").value_or(false);
    if (error) reply.error = read_error(*error, parameters);
    reply.parameters = parameters ? std::string(parameters->text()) : "{}";
    return reply;
  });
}

VerifyReply read_verify_reply(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) -> VerifyReply {
    Fields reply(value, "");
    if (const auto progress = reply.object("progress")) {
      Fields fields(*progress, "progress");
      return Progress{needed_integer(fields, "read"), needed_integer(fields, "total")};
    }
    Fields fields(needed(reply, "verdict", reply.object("verdict")), "verdict");
    Verdict verdict;
    verdict.equal = needed(fields, "equal", fields.boolean("equal"));
    verdict.position = fields.integer("position");
    verdict.expected = fields.integer("expected");
    verdict.computed = fields.integer("computed");
    verdict.prompt_tokens = needed_integer(fields, "promptTokens");
    verdict.reply_tokens = needed_integer(fields, "replyTokens");
    verdict.device = needed_text(fields, "device");
    verdict.seconds = fields.number("seconds").value_or(0);
    return verdict;
  });
}

ChatReply read_chat_reply(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) -> ChatReply {
    Fields fields(value, "");
    if (const auto accepted = fields.object("accepted")) return read_accepted(*accepted);
    if (const auto delta = fields.object("delta")) return read_delta(*delta);
    if (const auto final = fields.object("final")) return read_final(*final);
    Fields progress(needed(fields, "final", fields.object("progress")), "progress");
    return Progress{needed_integer(progress, "read"), needed_integer(progress, "total")};
  });
}

std::vector<int32_t> read_tokens_reply(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) {
    Fields fields(value, "");
    return read_tokens(fields, "tokens");
  });
}

CheckReply read_check_reply(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) -> CheckReply {
    Fields fields(value, "");
    const auto law_of = [](JsonValue law, const std::string& path) {
      Fields of(law, path);
      return LawCount{needed_text(of, "law"), needed_integer(of, "passed"), needed_integer(of, "failed"),
                      of.text("skipped").value_or("")};
    };
    if (const auto progress = fields.object("progress")) return law_of(*progress, "progress");
    std::vector<LawCount> laws;
    for (const JsonValue& element : needed(fields, "laws", fields.array("laws")))
      laws.push_back(law_of(element, element_path("laws", laws.size())));
    return laws;
  });
}

SnapshotList read_snapshots_reply(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) {
    Fields fields(value, "");
    SnapshotList list;
    list.directory = needed_text(fields, "directory");
    list.bytes = needed_unsigned(fields, "bytes");
    list.budget = needed_unsigned(fields, "budget");
    list.entries = needed_unsigned(fields, "entries");
    list.pages = needed_unsigned(fields, "pages");
    for (const JsonValue& element : elements(fields, "snapshots")) {
      Fields of(element, element_path("snapshots", list.snapshots.size()));
      list.snapshots.push_back(
          {needed_text(of, "model"), needed_integer(of, "tokens"), needed_unsigned(of, "bytes"),
           needed(of, "lastUsed", of.long_integer("lastUsed")), of.boolean("system").value_or(false)});
    }
    return list;
  });
}

std::string final_text(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) {
    Fields fields(value, "");
    return std::string(needed(fields, "final", fields.object("final")).text());
  });
}

std::vector<Model> read_models_reply(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) {
    Fields reply(value, "");
    std::vector<Model> models;
    for (const JsonValue& element : needed(reply, "models", reply.array("models"))) {
      Fields fields(element, element_path("models", models.size()));
      Model model;
      model.name = needed_text(fields, "name");
      model.family = needed_text(fields, "family");
      model.fingerprint = needed_text(fields, "fingerprint");
      model.canon_version = needed_integer(fields, "canonVersion");
      model.context = needed_integer(fields, "context");
      model.vocabulary = needed_integer(fields, "vocabulary");
      model.created = fields.long_integer("created").value_or(0);
      model.device = needed_text(fields, "device");
      model.device_description = fields.text("deviceDescription").value_or("");
      models.push_back(std::move(model));
    }
    return models;
  });
}

Status read_status_reply(std::string_view parameters) {
  return reading(parameters, [](JsonValue value) {
    Fields fields(value, "");
    Status status;
    status.version = needed_text(fields, "version");
    status.state = needed_text(fields, "state");
    status.model = fields.text("model").value_or("");
    status.device = fields.text("device").value_or("");
    status.uptime_seconds = fields.number("uptimeSeconds").value_or(0);
    status.active = needed_integer(fields, "active");
    status.queued = needed_integer(fields, "queued");
    status.lanes = needed_integer(fields, "lanes");
    status.queue = needed_integer(fields, "queue");
    status.served = needed_unsigned(fields, "served");
    status.cancelled = needed_unsigned(fields, "cancelled");
    status.refused = needed_unsigned(fields, "refused");
    status.failed = needed_unsigned(fields, "failed");
    status.prompt_tokens = needed_unsigned(fields, "promptTokens");
    status.reply_tokens = needed_unsigned(fields, "replyTokens");
    status.rounds = needed_unsigned(fields, "rounds");
    Fields cache(needed(fields, "cache", fields.object("cache")), "cache");
    status.cache = {needed_unsigned(cache, "hits"), needed_unsigned(cache, "misses"),
                    needed_unsigned(cache, "stored"), needed_unsigned(cache, "evicted"),
                    needed_unsigned(cache, "reusedTokens")};
    for (const JsonValue& element : elements(fields, "memory")) {
      Fields pool(element, element_path("memory", status.memory.size()));
      status.memory.push_back(
          {needed_text(pool, "name"), needed_unsigned(pool, "bytes"), needed_unsigned(pool, "used")});
    }
    for (const JsonValue& element : elements(fields, "requests"))
      status.requests.push_back(read_request(element, element_path("requests", status.requests.size())));
    for (const JsonValue& element : elements(fields, "accounts"))
      status.accounts.push_back(read_account(element, element_path("accounts", status.accounts.size())));
    return status;
  });
}

std::string conversation_parameters(const Conversation& conversation) {
  JsonWriter json;
  json.begin_object();
  write_conversation(json, conversation);
  return json.end_object().take();
}

std::string chat_parameters(const Chat& chat) {
  JsonWriter json;
  json.begin_object();
  write_conversation(json, chat);
  write_sampling(json, chat);
  if (chat.receipt) json.key("receipt").boolean(true);
  return json.end_object().take();
}

std::string complete_parameters(const Complete& complete) {
  JsonWriter json;
  json.begin_object().key("prompt").text(complete.prompt);
  write_sampling(json, complete);
  if (complete.receipt) json.key("receipt").boolean(true);
  return json.end_object().take();
}

std::string text_parameters(std::string_view name, std::string_view value) {
  JsonWriter json;
  return json.begin_object().key(name).text(value).end_object().take();
}

}  // namespace lockstep::ipc
