#include "daemon/openai/reply.h"

#include <simdjson.h>

#include <cmath>

namespace lockstep::daemon::openai {
namespace {

// A token's text; bytes that are no whole character are written as \xNN, as OpenAI does. The bytes
// themselves are beside it.
std::string token_text(const std::string& bytes) {
  if (simdjson::validate_utf8(bytes)) return bytes;
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "bytes:";
  for (const unsigned char c : bytes) {
    out += "\\x";
    out += hex[c >> 4];
    out += hex[c & 15];
  }
  return out;
}

json::Object token_json(const std::string& bytes, float logprob) {
  json::Array numbers;
  for (const unsigned char c : bytes) numbers.emplace_back(static_cast<int>(c));
  return {{"token", token_text(bytes)}, {"logprob", logprob}, {"bytes", std::move(numbers)}};
}

void append_logprobs(const engine::Delta& delta, json::Array& out) {
  for (const engine::TokenLogprob& token : delta.logprobs) {
    json::Object entry = token_json(token.bytes, token.logprob);
    json::Array top;
    for (const auto& other : token.top) top.emplace_back(token_json(other.bytes, other.logprob));
    entry.push_back({"top_logprobs", std::move(top)});
    out.emplace_back(std::move(entry));
  }
}

json::Value logprobs_json(bool wanted, json::Array content) {
  if (!wanted) return nullptr;
  return json::Object{{"content", std::move(content)}, {"refusal", nullptr}};
}

json::Array one(json::Value value) {
  json::Array out;
  out.push_back(std::move(value));
  return out;
}

// To a microsecond: what is beyond is noise.
double rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

double rate(double tokens, double seconds) {
  return seconds > 0 && tokens > 0 ? std::round(tokens / seconds * 1e3) / 1e3 : 0;
}

std::string system_fingerprint(const ReplyHead& head) {
  return "canon" + std::to_string(head.canon_version) + "-" + head.fingerprint.substr(0, 12);
}

}  // namespace

std::string call_id(const ReplyHead& head, std::size_t index) {
  const std::size_t dash = head.id.find('-');
  return "call_" + head.id.substr(dash + 1) + "_" + std::to_string(index);
}

std::string_view finish_name(engine::Finish finish) {
  switch (finish) {
    case engine::Finish::stop: return "stop";
    case engine::Finish::length: return "length";
    case engine::Finish::tool_calls: return "tool_calls";
  }
  return "stop";
}

json::Value usage_json(const engine::Reply& reply) {
  const auto completion = static_cast<int64_t>(reply.tokens.size());
  json::Object prompt_details{{"cached_tokens", reply.cached_tokens}};
  json::Object completion_details{{"reasoning_tokens", reply.reasoning_tokens}};
  return json::Object{{"prompt_tokens", reply.prompt_tokens},
                      {"completion_tokens", completion},
                      {"total_tokens", reply.prompt_tokens + completion},
                      {"prompt_tokens_details", std::move(prompt_details)},
                      {"completion_tokens_details", std::move(completion_details)}};
}

json::Value lockstep_json(const ReplyHead& head, const engine::Reply& reply) {
  const auto tokens = static_cast<double>(reply.tokens.size());
  json::Object timings{
      {"queue_seconds", rounded(reply.queue_seconds)},
      {"prompt_seconds", rounded(reply.prompt_seconds)},
      {"decode_seconds", rounded(reply.decode_seconds)},
      {"prompt_tokens_per_second", rate(reply.prompt_tokens - reply.cached_tokens, reply.prompt_seconds)},
      // The first token comes out of the prompt.
      {"decode_tokens_per_second", rate(tokens - 1, reply.decode_seconds)}};
  return json::Object{{"token_sha", reply.token_sha.substr(0, 12)},
                      {"token_sha256", reply.token_sha},
                      {"seed", reply.seed},
                      {"model_fingerprint", head.fingerprint},
                      {"canon", head.canon_version},
                      {"prompt_tokens", reply.prompt_tokens},
                      {"timings", std::move(timings)}};
}

void WholeReply::add(engine::Delta&& delta) {
  reasoning_ += delta.reasoning;
  content_ += delta.content;
  for (engine::Delta::Call& call : delta.calls) {
    const auto index = static_cast<std::size_t>(call.index);
    if (calls_.size() <= index) calls_.resize(index + 1);
    calls_[index].name += call.name;
    calls_[index].arguments += call.arguments;
  }
  append_logprobs(delta, logprobs_);
}

json::Value WholeReply::finish(const engine::Reply& reply) const {
  json::Object message{
      {"role", "assistant"},
      {"content", content_.empty() && !calls_.empty() ? json::Value() : json::Value(content_)}};
  if (!reasoning_.empty()) message.push_back({"reasoning_content", reasoning_});
  if (!calls_.empty()) {
    json::Array calls;
    for (const Call& call : calls_) {
      json::Object function{{"name", call.name}, {"arguments", call.arguments}};
      calls.emplace_back(json::Object{
          {"id", call_id(head_, calls.size())}, {"type", "function"}, {"function", std::move(function)}});
    }
    message.push_back({"tool_calls", std::move(calls)});
  }
  json::Object choice{{"index", 0},
                      {"message", std::move(message)},
                      {"logprobs", logprobs_json(head_.logprobs, logprobs_)},
                      {"finish_reason", finish_name(reply.finish)}};
  return json::Object{{"id", head_.id},
                      {"object", "chat.completion"},
                      {"created", head_.created},
                      {"model", head_.model},
                      {"system_fingerprint", system_fingerprint(head_)},
                      {"choices", one(std::move(choice))},
                      {"usage", usage_json(reply)},
                      {"lockstep", lockstep_json(head_, reply)}};
}

json::Object StreamedReply::chunk(json::Array choices) const {
  return {{"id", head_.id},
          {"object", "chat.completion.chunk"},
          {"created", head_.created},
          {"model", head_.model},
          {"system_fingerprint", system_fingerprint(head_)},
          {"choices", std::move(choices)}};
}

json::Array StreamedReply::choice(json::Value delta, json::Value finish, json::Value logprobs) const {
  return one(json::Object{{"index", 0},
                          {"delta", std::move(delta)},
                          {"logprobs", std::move(logprobs)},
                          {"finish_reason", std::move(finish)}});
}

json::Value StreamedReply::opening() const {
  json::Object delta{{"role", "assistant"}, {"content", ""}};
  return chunk(choice(std::move(delta), nullptr, nullptr));
}

json::Value StreamedReply::piece(engine::Delta&& delta) const {
  json::Object said;
  if (!delta.reasoning.empty()) said.push_back({"reasoning_content", std::move(delta.reasoning)});
  if (!delta.content.empty()) said.push_back({"content", std::move(delta.content)});
  json::Array calls;
  for (engine::Delta::Call& call : delta.calls) {
    json::Object function, entry{{"index", call.index}};
    if (!call.name.empty()) {
      entry.push_back({"id", call_id(head_, static_cast<std::size_t>(call.index))});
      entry.push_back({"type", "function"});
      function.push_back({"name", std::move(call.name)});
    }
    function.push_back({"arguments", std::move(call.arguments)});
    entry.push_back({"function", std::move(function)});
    calls.emplace_back(std::move(entry));
  }
  if (!calls.empty()) said.push_back({"tool_calls", std::move(calls)});
  json::Array tokens;
  append_logprobs(delta, tokens);
  return chunk(choice(std::move(said), nullptr, logprobs_json(head_.logprobs, std::move(tokens))));
}

std::vector<json::Value> StreamedReply::closing(const engine::Reply& reply) const {
  std::vector<json::Object> chunks;
  chunks.push_back(chunk(choice(json::Object{}, finish_name(reply.finish), nullptr)));
  if (include_usage_) {
    chunks.push_back(chunk({}));
    chunks.back().push_back({"usage", usage_json(reply)});
  }
  chunks.back().push_back({"lockstep", lockstep_json(head_, reply)});
  return {std::make_move_iterator(chunks.begin()), std::make_move_iterator(chunks.end())};
}

}  // namespace lockstep::daemon::openai
