#include "daemon/openai/completion_request.h"

#include "daemon/limits.h"
#include "daemon/openai/error.h"
#include "daemon/openai/read.h"

namespace lockstep::daemon::openai {
namespace {

using json::Value;

// A string, token ids, or an array of either.
void read_prompt(const Value& value, const std::string& name, Draft& draft) {
  std::vector<TextPrompt>& texts = draft.request.texts;
  if (const std::string* text = value.string()) {
    texts.emplace_back(*text);
    return;
  }
  const json::Array* items = value.array();
  if (!items || items->empty()) refuse_kind(value, name, "a string, token ids, or an array of either");
  if (items->front().number()) {
    texts.emplace_back(read_tokens(value, name));
    return;
  }
  if (items->size() > limits::choices)
    throw invalid("'prompt' holds " + std::to_string(items->size()) + " prompts; at most " +
                      std::to_string(limits::choices) + " are taken",
                  name);
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string at = name + "[" + std::to_string(i) + "]";
    if (const std::string* text = (*items)[i].string())
      texts.emplace_back(*text);
    else
      texts.emplace_back(read_tokens((*items)[i], at));
  }
}

constexpr Field fields[] = {
    {"prompt", "a string, token ids, or an array of up to 16 of either", read_prompt},
    {"echo", "true: the reply's text begins with the prompt's",
     [](const Value& v, const std::string& n, Draft& d) { d.request.echo = read_bool(v, n); }},
    {"logprobs",
     "0 to 20: log-probabilities of the reply's tokens and of so many alternatives; with echo also the "
     "prompt's",
     [](const Value& v, const std::string& n, Draft& d) {
       d.logprobs = true;
       d.top_logprobs = read_count(v, n, 0, limits::top_logprobs);
     }},
    {"parse_special", "true: names of special tokens in the prompt are those tokens, not text",
     [](const Value& v, const std::string& n, Draft& d) { d.request.parse_special = read_bool(v, n); }},
    {"best_of", "1", [](const Value& v, const std::string& n, Draft&) { read_count(v, n, 1, 1); }},
    {"suffix", "null", refuse},
};

}  // namespace

Request read_completion_request(const Value& body, const engine::Sampling& defaults) {
  Draft draft = read_fields(body, defaults, {common_fields(), text_fields(), completion_fields()});
  Request& request = draft.request;
  if (request.texts.empty()) throw invalid("'prompt' is missing", "prompt");
  settle_common(draft);
  request.sampling.prompt_logprobs = request.echo && draft.logprobs;
  return std::move(request);
}

Fields completion_fields() { return fields; }

}  // namespace lockstep::daemon::openai
