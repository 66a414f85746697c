#include "daemon/openai/completion_reply.h"

#include <cmath>
#include <utility>

namespace lockstep::daemon::openai {
namespace {

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

json::Object head_json(const ReplyHead& head, json::Array choices) {
  return {{"id", "cmpl-" + head.id},
          {"object", "text_completion"},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", system_fingerprint(head)},
          {"choices", std::move(choices)}};
}

json::Object choice_json(int index, json::Value text, json::Value finish, json::Value logprobs) {
  return {{"index", index},
          {"text", std::move(text)},
          {"logprobs", std::move(logprobs)},
          {"finish_reason", std::move(finish)}};
}

}  // namespace

void TextLogprobs::add(const std::vector<engine::TokenLogprob>& more, std::size_t& offset) {
  for (const engine::TokenLogprob& token : more) {
    if (token.bytes.empty()) continue;
    tokens.emplace_back(token_text(token.bytes));
    token_logprobs.emplace_back(token.logprob);
    json::Object top;
    for (const auto& other : token.top) top.push_back({token_text(other.bytes), other.logprob});
    // A prompt's first token has none.
    top_logprobs.emplace_back(std::isnan(token.logprob) ? json::Value() : json::Value(std::move(top)));
    text_offset.emplace_back(offset);
    offset += characters(token.bytes);
  }
}

json::Value TextLogprobs::json() && {
  return json::Object{{"tokens", std::move(tokens)},
                      {"token_logprobs", std::move(token_logprobs)},
                      {"top_logprobs", std::move(top_logprobs)},
                      {"text_offset", std::move(text_offset)}};
}

WholeCompletion::WholeCompletion(ReplyHead head, const std::vector<std::string>& echoes)
    : head_(std::move(head)),
      choices_(static_cast<std::size_t>(head_.choices)),
      usage_(head_.replies_a_prompt) {
  for (std::size_t i = 0; i < choices_.size() && !echoes.empty(); ++i)
    choices_[i].text = echoes[i / static_cast<std::size_t>(head_.replies_a_prompt)];
}

void WholeCompletion::add(int choice, engine::Delta&& delta) {
  Choice& one = choices_[static_cast<std::size_t>(choice)];
  one.text += delta.content;
  one.logprobs.add(delta.prompt, one.offset);
  one.logprobs.add(delta.logprobs, one.offset);
}

void WholeCompletion::finish(int choice, engine::Reply&& reply) {
  usage_.add(choice, reply);
  choices_[static_cast<std::size_t>(choice)].reply = std::move(reply);
}

json::Value WholeCompletion::body() {
  json::Array choices;
  for (int i = 0; i < head_.choices; ++i) {
    Choice& one = choices_[static_cast<std::size_t>(i)];
    json::Value logprobs = head_.logprobs ? std::move(one.logprobs).json() : json::Value();
    json::Object choice =
        choice_json(i, std::move(one.text), finish_name(one.reply.finish), std::move(logprobs));
    if (head_.choices > 1) choice.push_back({"lockstep", lockstep_json(head_, one.reply)});
    choices.emplace_back(std::move(choice));
  }
  json::Object body = head_json(head_, std::move(choices));
  body.push_back({"usage", usage_.json()});
  body.push_back({"lockstep", lockstep_json(head_, choices_[0].reply)});
  return body;
}

StreamedCompletion::StreamedCompletion(ReplyHead head, std::vector<std::string> echoes)
    : StreamedChunks(std::move(head)),
      echoes_(std::move(echoes)),
      prompts_(static_cast<std::size_t>(head_.choices)),
      offsets_(static_cast<std::size_t>(head_.choices)) {}

json::Object StreamedCompletion::chunk(json::Array choices) const {
  return head_json(head_, std::move(choices));
}

json::Array StreamedCompletion::choice(int index, json::Value text, json::Value finish,
                                       json::Value logprobs) const {
  json::Array choices;
  choices.emplace_back(choice_json(index, std::move(text), std::move(finish), std::move(logprobs)));
  return choices;
}

void StreamedCompletion::echo(int index, json::Value logprobs, StreamEvents& out) const {
  const std::string& text = echoes_[static_cast<std::size_t>(index / head_.replies_a_prompt)];
  out.push_back({{}, chunk(choice(index, text, nullptr, std::move(logprobs)))});
}

// With log-probabilities the prompt waits for its own.
void StreamedCompletion::open(StreamEvents& out) {
  for (int i = 0; i < head_.choices && !echoes_.empty() && !head_.logprobs; ++i) echo(i, nullptr, out);
}

void StreamedCompletion::add(int index, engine::Delta&& delta, StreamEvents& out) {
  std::size_t& offset = offsets_[static_cast<std::size_t>(index)];
  TextLogprobs& prompt = prompts_[static_cast<std::size_t>(index)];
  prompt.add(delta.prompt, offset);
  if (delta.content.empty() && delta.logprobs.empty()) return;
  if (!prompt.tokens.empty()) echo(index, std::exchange(prompt, {}).json(), out);
  TextLogprobs logprobs;
  logprobs.add(delta.logprobs, offset);
  out.push_back({{},
                 chunk(choice(index, std::move(delta.content), nullptr,
                              head_.logprobs ? std::move(logprobs).json() : json::Value()))});
}

json::Array StreamedCompletion::last_choice(int index, json::Value finish) const {
  return choice(index, "", std::move(finish), nullptr);
}

}  // namespace lockstep::daemon::openai
