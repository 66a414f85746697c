#include "engine/lanes/accept.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/lanes/token_hash.h"
#include "engine/sampling/form/form_filter.h"

namespace lockstep::engine {
namespace {

void check(const Sampling& s, int vocabulary) {
  const auto refuse = [](const char* field, const std::string& text) {
    throw RequestError(RequestError::Kind::invalid, text, field);
  };
  if (!(s.temperature >= 0 && s.temperature <= 100))
    refuse("temperature", "temperature must be between 0 and 100");
  if (!(s.top_p > 0 && s.top_p <= 1)) refuse("top_p", "top_p must be above 0 and at most 1");
  if (!(s.min_p >= 0 && s.min_p <= 1)) refuse("min_p", "min_p must be between 0 and 1");
  if (s.top_k < 0) refuse("top_k", "top_k must not be negative (0 turns it off)");
  if (!(s.repetition_penalty >= 0.01f && s.repetition_penalty <= 100))
    refuse("repetition_penalty", "repetition_penalty must be between 0.01 and 100 (1 turns it off)");
  if (!(std::fabs(s.frequency_penalty) <= 2))
    refuse("frequency_penalty", "frequency_penalty must be between -2 and 2");
  if (!(std::fabs(s.presence_penalty) <= 2))
    refuse("presence_penalty", "presence_penalty must be between -2 and 2");
  for (const auto& [token, bias] : s.logit_bias) {
    if (token < 0 || token >= vocabulary)
      refuse("logit_bias", "logit_bias names the token " + std::to_string(token) +
                               ", but the vocabulary ends at " + std::to_string(vocabulary - 1));
    if (!(std::fabs(bias) <= 100)) refuse("logit_bias", "a bias of logit_bias must be between -100 and 100");
  }
  if (s.max_tokens < 0) refuse("max_tokens", "max_tokens must not be negative");
  if (s.top_logprobs < -1 || s.top_logprobs > 20)
    refuse("top_logprobs", "top_logprobs must be between 0 and 20");
  if (s.stop.size() > StopMatcher::max_stops)
    refuse("stop", "at most " + std::to_string(StopMatcher::max_stops) + " stop strings are taken");
  for (const std::string& stop : s.stop)
    if (stop.empty() || stop.size() > StopMatcher::max_bytes)
      refuse("stop", "a stop string must have 1 to " + std::to_string(StopMatcher::max_bytes) + " bytes");
}

void check(const Prompt& prompt, const ModelInfo& model) {
  const std::vector<int32_t>& tokens = prompt.tokens;
  if (tokens.empty()) throw RequestError(RequestError::Kind::invalid, "the prompt is empty", "messages");
  for (int32_t token : tokens)
    if (token < 0 || token >= model.vocabulary)
      throw RequestError(RequestError::Kind::invalid,
                         "token " + std::to_string(token) + " is not in the vocabulary of " +
                             std::to_string(model.vocabulary),
                         "prompt");
  if (static_cast<int>(tokens.size()) >= model.context)
    throw RequestError(RequestError::Kind::context_overflow,
                       "the prompt has " + std::to_string(tokens.size()) + " tokens, but a request may use " +
                           std::to_string(model.context) + " with its reply; shorten the prompt");
}

}  // namespace

std::unique_ptr<Lane> accept(JobId id, Job job, const ModelInfo& model, const Tokenizer& tokenizer,
                             const std::vector<int32_t>& end_tokens) {
  check(job.sampling, model.vocabulary);
  check(job.prompt, model);
  auto lane = std::make_unique<Lane>();
  lane->id = id;
  lane->job = std::move(job);
  const Prompt& prompt = lane->job.prompt;
  const Sampling& s = lane->job.sampling;
  lane->writer.emplace(tokenizer, prompt, s.stop);
  lane->tokens = prompt.tokens;
  lane->copies.extend(lane->tokens);
  const int room = model.context - lane->prompt_tokens();
  lane->most_tokens = s.max_tokens ? std::min(s.max_tokens, room) : room;
  lane->reply.prompt_sha = token_sha(lane->tokens);
  lane->reply.seed = s.seed.value_or(seed_from_tokens(lane->tokens)) + static_cast<uint64_t>(s.choice);
  std::optional<FormFilter> form;
  if (prompt.form) form.emplace(prompt.form, tokenizer, end_tokens);
  lane->chooser.emplace(s, lane->reply.seed, lane->tokens, model.vocabulary, std::move(form));
  lane->arrived = Clock::now();
  return lane;
}

}  // namespace lockstep::engine
