#include "daemon/openai/parameters_json.h"

#include <charconv>

namespace lockstep::daemon::openai {

double shortest(float value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  double out = 0;
  std::from_chars(text, end, out);
  return out;
}

json::Value parameters_json(const engine::Sampling& sampling) {
  json::Object out{{"temperature", shortest(sampling.temperature)},
                   {"top_p", shortest(sampling.top_p)},
                   {"top_k", sampling.top_k},
                   {"min_p", shortest(sampling.min_p)}};
  if (sampling.repetition_penalty != 1)
    out.push_back({"repetition_penalty", shortest(sampling.repetition_penalty)});
  if (sampling.frequency_penalty != 0)
    out.push_back({"frequency_penalty", shortest(sampling.frequency_penalty)});
  if (sampling.presence_penalty != 0)
    out.push_back({"presence_penalty", shortest(sampling.presence_penalty)});
  if (!sampling.logit_bias.empty()) {
    json::Object biases;
    for (const auto& [token, bias] : sampling.logit_bias)
      biases.push_back({std::to_string(token), shortest(bias)});
    out.push_back({"logit_bias", std::move(biases)});
  }
  if (sampling.max_tokens > 0) out.push_back({"max_tokens", sampling.max_tokens});
  if (!sampling.stop.empty()) {
    json::Array stop;
    for (const std::string& text : sampling.stop) stop.emplace_back(text);
    out.push_back({"stop", std::move(stop)});
  }
  if (sampling.ignore_end) out.push_back({"ignore_eos", true});
  return out;
}

}  // namespace lockstep::daemon::openai
