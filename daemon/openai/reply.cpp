#include "daemon/openai/reply.h"

#include <simdjson.h>

#include <cmath>

#include "daemon/openai/parameters_json.h"

namespace lockstep::daemon::openai {
namespace {

json::Object token_json(const std::string& bytes, float logprob) {
  json::Array numbers;
  for (const unsigned char c : bytes) numbers.emplace_back(static_cast<int>(c));
  return {{"token", token_text(bytes)}, {"logprob", logprob}, {"bytes", std::move(numbers)}};
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

}  // namespace

void append_logprobs(const engine::Delta& delta, json::Array& out) {
  for (const engine::TokenLogprob& token : delta.logprobs) {
    if (token.bytes.empty()) continue;
    json::Object entry = token_json(token.bytes, token.logprob);
    json::Array top;
    for (const auto& other : token.top) top.emplace_back(token_json(other.bytes, other.logprob));
    entry.push_back({"top_logprobs", std::move(top)});
    out.emplace_back(std::move(entry));
  }
}

void Usage::add(int choice, const engine::Reply& reply) {
  completion += static_cast<int64_t>(reply.tokens.size());
  reasoning += reply.reasoning_tokens;
  if (choice % replies_a_prompt_ != 0) return;
  prompt += reply.prompt_tokens;
  cached += reply.cached_tokens;
}

json::Value Usage::json() const {
  json::Object prompt_details{{"cached_tokens", cached}};
  json::Object completion_details{{"reasoning_tokens", reasoning}};
  return json::Object{{"prompt_tokens", prompt},
                      {"completion_tokens", completion},
                      {"total_tokens", prompt + completion},
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
  json::Object out{{"token_sha", reply.token_sha.substr(0, 12)},
                   {"token_sha256", reply.token_sha},
                   {"prompt_sha256", reply.prompt_sha},
                   {"seed", reply.seed},
                   {"parameters", parameters_json(head.sampling)},
                   {"model_fingerprint", head.fingerprint},
                   {"canon", head.canon_version},
                   {"prompt_tokens", reply.prompt_tokens},
                   {"timings", std::move(timings)}};
  if (head.held_to_form) out.push_back({"held_to_form", true});
  return out;
}

std::string system_fingerprint(const ReplyHead& head) {
  return "canon" + std::to_string(head.canon_version) + "-" + head.fingerprint.substr(0, 12);
}

std::string call_id(const ReplyHead& head, int choice, std::size_t index) {
  const std::string of_choice = choice > 0 ? "_" + std::to_string(choice) : "";
  return "call_" + head.id + of_choice + "_" + std::to_string(index);
}

std::string_view finish_name(engine::Finish finish) {
  switch (finish) {
    case engine::Finish::stop: return "stop";
    case engine::Finish::length: return "length";
    case engine::Finish::tool_calls: return "tool_calls";
  }
  return "stop";
}

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

void Collected::add(engine::Delta& delta) {
  reasoning += delta.reasoning;
  content += delta.content;
  for (engine::Delta::Call& call : delta.calls) {
    const auto index = static_cast<std::size_t>(call.index);
    if (calls.size() <= index) calls.resize(index + 1);
    calls[index].name += call.name;
    calls[index].arguments += call.arguments;
  }
}

WholeChat::WholeChat(ReplyHead head)
    : head_(std::move(head)),
      choices_(static_cast<std::size_t>(head_.choices)),
      usage_(head_.replies_a_prompt) {}

void WholeChat::add(int choice, engine::Delta&& delta) {
  Choice& one = choices_[static_cast<std::size_t>(choice)];
  one.said.add(delta);
  append_logprobs(delta, one.logprobs);
}

void WholeChat::finish(int choice, engine::Reply&& reply) {
  usage_.add(choice, reply);
  choices_[static_cast<std::size_t>(choice)].reply = std::move(reply);
}

json::Value WholeChat::message(int index) const {
  const Collected& said = choices_[static_cast<std::size_t>(index)].said;
  const bool only_calls = said.content.empty() && !said.calls.empty();
  json::Object message{{"role", "assistant"},
                       {"content", only_calls ? json::Value() : json::Value(said.content)}};
  if (!said.reasoning.empty()) message.push_back({"reasoning_content", said.reasoning});
  if (said.calls.empty()) return message;
  json::Array calls;
  for (const Collected::Call& call : said.calls) {
    json::Object function{{"name", call.name}, {"arguments", call.arguments}};
    calls.emplace_back(json::Object{{"id", call_id(head_, index, calls.size())},
                                    {"type", "function"},
                                    {"function", std::move(function)}});
  }
  message.push_back({"tool_calls", std::move(calls)});
  return message;
}

json::Value WholeChat::body() {
  json::Array choices;
  for (int i = 0; i < head_.choices; ++i) {
    Choice& one = choices_[static_cast<std::size_t>(i)];
    json::Object choice{{"index", i},
                        {"message", message(i)},
                        {"logprobs", logprobs_json(head_.logprobs, std::move(one.logprobs))},
                        {"finish_reason", finish_name(one.reply.finish)}};
    if (head_.choices > 1) choice.push_back({"lockstep", lockstep_json(head_, one.reply)});
    choices.emplace_back(std::move(choice));
  }
  return json::Object{{"id", "chatcmpl-" + head_.id},
                      {"object", "chat.completion"},
                      {"created", head_.created},
                      {"model", head_.model},
                      {"system_fingerprint", system_fingerprint(head_)},
                      {"choices", std::move(choices)},
                      {"usage", usage_.json()},
                      {"lockstep", lockstep_json(head_, choices_[0].reply)}};
}

json::Object StreamedChat::chunk(json::Array choices) const {
  return {{"id", "chatcmpl-" + head_.id},
          {"object", "chat.completion.chunk"},
          {"created", head_.created},
          {"model", head_.model},
          {"system_fingerprint", system_fingerprint(head_)},
          {"choices", std::move(choices)}};
}

json::Array StreamedChat::choice(int index, json::Value delta, json::Value finish,
                                 json::Value logprobs) const {
  return one(json::Object{{"index", index},
                          {"delta", std::move(delta)},
                          {"logprobs", std::move(logprobs)},
                          {"finish_reason", std::move(finish)}});
}

void StreamedChat::open(StreamEvents& out) {
  for (int i = 0; i < head_.choices; ++i) {
    json::Object delta{{"role", "assistant"}, {"content", ""}};
    out.push_back({{}, chunk(choice(i, std::move(delta), nullptr, nullptr))});
  }
}

void StreamedChat::add(int index, engine::Delta&& delta, StreamEvents& out) {
  json::Object said;
  if (!delta.reasoning.empty()) said.push_back({"reasoning_content", std::move(delta.reasoning)});
  if (!delta.content.empty()) said.push_back({"content", std::move(delta.content)});
  json::Array calls;
  for (engine::Delta::Call& call : delta.calls) {
    json::Object function, entry{{"index", call.index}};
    if (!call.name.empty()) {
      entry.push_back({"id", call_id(head_, index, static_cast<std::size_t>(call.index))});
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
  if (said.empty() && tokens.empty()) return;
  json::Value logprobs = logprobs_json(head_.logprobs, std::move(tokens));
  out.push_back({{}, chunk(choice(index, std::move(said), nullptr, std::move(logprobs)))});
}

json::Array StreamedChat::last_choice(int index, json::Value finish) const {
  return choice(index, json::Object{}, std::move(finish), nullptr);
}

void StreamedChunks::finish(int index, engine::Reply&& reply, StreamEvents& out) {
  usage_.add(index, reply);
  if (index == 0) lockstep_ = lockstep_json(head_, reply);
  if (!last_.empty()) out.push_back({{}, std::exchange(last_, {})});
  last_ = chunk(last_choice(index, finish_name(reply.finish)));
}

void StreamedChunks::close(StreamEvents& out) {
  if (head_.include_usage) {
    out.push_back({{}, std::move(last_)});
    last_ = chunk({});
    last_.push_back({"usage", usage_.json()});
  }
  last_.push_back({"lockstep", std::move(lockstep_)});
  out.push_back({{}, std::move(last_)});
}

void StreamedChunks::fail(const ApiError& error, StreamEvents& out) { out.push_back({{}, to_json(error)}); }

}  // namespace lockstep::daemon::openai
