// What a server sends.
#include "ipc/ipc.h"
#include "ipc/json_writer.h"
#include "ipc/receipt_fields.h"

namespace lockstep::ipc {

namespace {

// {"parameters":{NAME:…},"continues":…}NUL, where `write` writes NAME's value.
template <class Write>
std::string reply(std::string_view name, bool continues, Write write) {
  JsonWriter json;
  json.begin_object().key("parameters").begin_object().key(name);
  write(json);
  json.end_object();
  if (continues) json.key("continues").boolean(true);
  json.end_object();
  return json.take() + '\0';
}

void write_unless_empty(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.key(name).text(text);
}

void write(JsonWriter& json, const Request& request) {
  json.begin_object().key("id").text(request.id).key("method").text(request.method);
  json.key("state").text(request.state);
  if (request.caller.uid) json.key("uid").integer(*request.caller.uid);
  if (request.caller.pid) json.key("pid").integer(*request.caller.pid);
  json.key("promptTokens").integer(request.prompt_tokens).key("replyTokens").integer(request.reply_tokens);
  json.key("seconds").real(request.seconds).end_object();
}

void write(JsonWriter& json, const Account& account) {
  json.begin_object();
  if (account.uid) json.key("uid").integer(*account.uid);
  json.key("active").integer(account.active).key("served").unsigned_integer(account.served);
  json.key("cancelled").unsigned_integer(account.cancelled).key("refused").unsigned_integer(account.refused);
  json.key("failed").unsigned_integer(account.failed);
  json.key("promptTokens").unsigned_integer(account.prompt_tokens);
  json.key("replyTokens").unsigned_integer(account.reply_tokens).end_object();
}

void write(JsonWriter& json, const LawCount& law) {
  json.begin_object().key("law").text(law.law).key("passed").integer(law.passed);
  json.key("failed").integer(law.failed);
  write_unless_empty(json, "skipped", law.skipped);
  json.end_object();
}

std::string lower_camel(std::string_view snake) {
  std::string out;
  for (size_t i = 0; i < snake.size(); ++i) {
    const bool letter_after = i + 1 < snake.size() && snake[i + 1] >= 'a' && snake[i + 1] <= 'z';
    if (snake[i] == '_' && letter_after)
      out += static_cast<char>(snake[++i] - 'a' + 'A');
    else
      out += snake[i];
  }
  return out;
}

}  // namespace

std::string accepted_reply(const Accepted& accepted) {
  return reply("accepted", true, [&](JsonWriter& json) {
    json.begin_object().key("id").text(accepted.id);
    json.key("promptTokens").integer(accepted.prompt_tokens).end_object();
  });
}

std::string progress_reply(const Progress& progress) {
  return reply("progress", true, [&](JsonWriter& json) {
    json.begin_object().key("read").integer(progress.read).key("total").integer(progress.total).end_object();
  });
}

std::string delta_reply(const Delta& delta) {
  return reply("delta", true, [&](JsonWriter& json) {
    json.begin_object();
    write_unless_empty(json, "content", delta.content);
    write_unless_empty(json, "reasoning", delta.reasoning);
    if (!delta.calls.empty()) {
      json.key("toolCalls").begin_array();
      for (const CallPiece& piece : delta.calls) {
        json.begin_object().key("index").integer(piece.index);
        write_unless_empty(json, "name", piece.name);
        write_unless_empty(json, "arguments", piece.arguments);
        json.end_object();
      }
      json.end_array();
    }
    json.end_object();
  });
}

std::string final_reply(const Final& final) {
  return reply("final", false, [&](JsonWriter& json) {
    json.begin_object();
    if (final.whole) {
      json.key("content").text(final.whole->content);
      write_unless_empty(json, "reasoning", final.whole->reasoning);
      json.key("toolCalls").begin_array();
      for (const ToolCall& call : final.whole->calls) {
        json.begin_object();
        write_unless_empty(json, "id", call.id);
        json.key("name").text(call.name).key("arguments").text(call.arguments).end_object();
      }
      json.end_array();
    }
    json.key("id").text(final.id).key("finish").text(final.finish).key("usage").begin_object();
    json.key("promptTokens").integer(final.prompt_tokens);
    json.key("cachedTokens").integer(final.cached_tokens);
    json.key("replyTokens").integer(final.reply_tokens);
    json.key("reasoningTokens").integer(final.reasoning_tokens).end_object();
    json.key("tokenSha").text(final.token_sha).key("seed").unsigned_integer(final.seed);
    json.key("model").text(final.model).key("fingerprint").text(final.fingerprint);
    json.key("canonVersion").integer(final.canon_version).key("promptSha").text(final.prompt_sha);
    json.key("parameters").begin_object();
    write_sampling(json, final.parameters);
    json.end_object().key("timings").begin_object();
    json.key("queueSeconds").real(final.queue_seconds).key("promptSeconds").real(final.prompt_seconds);
    json.key("decodeSeconds").real(final.decode_seconds).end_object();
    if (final.receipt) write(json.key("receipt"), *final.receipt);
    json.end_object();
  });
}

std::string verdict_reply(const Verdict& verdict) {
  return reply("verdict", false, [&](JsonWriter& json) {
    json.begin_object().key("equal").boolean(verdict.equal);
    if (verdict.position) json.key("position").integer(*verdict.position);
    if (verdict.expected) json.key("expected").integer(*verdict.expected);
    if (verdict.computed) json.key("computed").integer(*verdict.computed);
    json.key("promptTokens").integer(verdict.prompt_tokens).key("replyTokens").integer(verdict.reply_tokens);
    json.key("device").text(verdict.device).key("seconds").real(verdict.seconds).end_object();
  });
}

std::string tokens_reply(const std::vector<int32_t>& tokens) {
  return reply("tokens", false, [&](JsonWriter& json) { write_tokens(json, tokens); });
}

std::string empty_reply() { return std::string("{\"parameters\":{}}") + '\0'; }

std::string models_reply(const std::vector<Model>& models) {
  return reply("models", false, [&](JsonWriter& json) {
    json.begin_array();
    for (const Model& model : models) {
      json.begin_object().key("name").text(model.name).key("family").text(model.family);
      json.key("fingerprint").text(model.fingerprint).key("canonVersion").integer(model.canon_version);
      json.key("context").integer(model.context).key("vocabulary").integer(model.vocabulary);
      json.key("created").integer(model.created).key("device").text(model.device);
      json.key("deviceDescription").text(model.device_description).end_object();
    }
    json.end_array();
  });
}

std::string status_reply(const Status& status, bool continues) {
  return reply("version", continues, [&](JsonWriter& json) {
    json.text(status.version).key("state").text(status.state);
    write_unless_empty(json, "model", status.model);
    write_unless_empty(json, "device", status.device);
    json.key("uptimeSeconds").real(status.uptime_seconds);
    json.key("active").integer(status.active).key("queued").integer(status.queued);
    json.key("lanes").integer(status.lanes).key("queue").integer(status.queue);
    json.key("served").unsigned_integer(status.served).key("cancelled").unsigned_integer(status.cancelled);
    json.key("refused").unsigned_integer(status.refused).key("failed").unsigned_integer(status.failed);
    json.key("promptTokens").unsigned_integer(status.prompt_tokens);
    json.key("replyTokens").unsigned_integer(status.reply_tokens);
    json.key("rounds").unsigned_integer(status.rounds).key("cache").begin_object();
    json.key("hits").unsigned_integer(status.cache.hits).key("misses").unsigned_integer(status.cache.misses);
    json.key("stored").unsigned_integer(status.cache.stored);
    json.key("evicted").unsigned_integer(status.cache.evicted);
    json.key("reusedTokens").unsigned_integer(status.cache.reused_tokens).end_object();
    json.key("memory").begin_array();
    for (const Pool& pool : status.memory) {
      json.begin_object().key("name").text(pool.name).key("bytes").unsigned_integer(pool.bytes);
      json.key("used").unsigned_integer(pool.used).end_object();
    }
    json.end_array().key("requests").begin_array();
    for (const Request& request : status.requests) write(json, request);
    json.end_array().key("accounts").begin_array();
    for (const Account& account : status.accounts) write(json, account);
    json.end_array();
  });
}

std::string snapshots_reply(const SnapshotList& list) {
  return reply("directory", false, [&](JsonWriter& json) {
    json.text(list.directory).key("bytes").unsigned_integer(list.bytes);
    json.key("budget").unsigned_integer(list.budget).key("entries").unsigned_integer(list.entries);
    json.key("pages").unsigned_integer(list.pages).key("snapshots").begin_array();
    for (const Snapshot& snapshot : list.snapshots) {
      json.begin_object().key("model").text(snapshot.model).key("tokens").integer(snapshot.tokens);
      json.key("bytes").unsigned_integer(snapshot.bytes).key("lastUsed").integer(snapshot.last_used);
      json.key("system").boolean(snapshot.system).end_object();
    }
    json.end_array();
  });
}

std::string law_reply(const LawCount& law) {
  return reply("progress", true, [&](JsonWriter& json) { write(json, law); });
}

std::string laws_reply(const std::vector<LawCount>& laws) {
  return reply("laws", false, [&](JsonWriter& json) {
    json.begin_array();
    for (const LawCount& law : laws) write(json, law);
    json.end_array();
  });
}

std::string error_reply(const Error& error) {
  if (error.kind == Error::Kind::permission_denied)
    return std::string(R"({"error":"org.varlink.service.PermissionDenied","parameters":{}})") + '\0';
  JsonWriter json;
  const auto open = [&](std::string_view name) -> JsonWriter& {
    json.begin_object().key("error").text(std::string(interface_name) + "." + std::string(name));
    return json.key("parameters").begin_object();
  };
  switch (error.kind) {
    case Error::Kind::busy: open("Busy").key("message").text(error.message); break;
    case Error::Kind::context_overflow:
      open("ContextOverflow").key("limit").integer(error.limit).key("given").integer(error.given);
      break;
    case Error::Kind::bad_request:
      open("BadRequest").key("field").text(lower_camel(error.field)).key("message").text(error.message);
      break;
    case Error::Kind::not_ready: open("NotReady").key("message").text(error.message); break;
    case Error::Kind::cancelled: open("Cancelled").key("message").text(error.message); break;
    case Error::Kind::no_such_request: open("NoSuchRequest").key("id").text(error.field); break;
    case Error::Kind::permission_denied:
    case Error::Kind::device_fault:
    case Error::Kind::other: open("DeviceFault").key("message").text(error.message);
  }
  json.end_object().end_object();
  return json.take() + '\0';
}

}  // namespace lockstep::ipc
