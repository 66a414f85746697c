#include "daemon/receipts.h"

#include <algorithm>

#include "daemon/local_messages.h"
#include "daemon/openai/parameters_json.h"

namespace lockstep::daemon {
namespace {

void refuse(const std::string& text, const char* field) {
  throw openai::invalid(text, std::string("receipt.") + field);
}

void check(const ipc::Receipt& receipt, const engine::ModelInfo& model) {
  if (receipt.canon_version != model.canon_version)
    refuse("the receipt is of canon " + std::to_string(receipt.canon_version) +
               ", and this daemon computes canon " + std::to_string(model.canon_version),
           "canonVersion");
  if (receipt.fingerprint != model.fingerprint)
    refuse("the receipt is of the model " + receipt.model + " (" + receipt.fingerprint.substr(0, 12) +
               "), and this daemon serves " + model.name + " (" + model.fingerprint.substr(0, 12) + ")",
           "fingerprint");
  if (engine::token_sha(receipt.prompt) != receipt.prompt_sha)
    refuse("the receipt's promptTokens are not those of its promptSha: it was changed", "promptTokens");
  if (engine::token_sha(receipt.reply) != receipt.token_sha)
    refuse("the receipt's replyTokens are not those of its tokenSha: it was changed", "replyTokens");
  if (receipt.prompt.empty()) refuse("the receipt's prompt is empty", "promptTokens");
  if (receipt.reply.empty()) refuse("the receipt's reply is empty", "replyTokens");
  if (receipt.finish != "stop" && receipt.finish != "length" && receipt.finish != "tool_calls")
    refuse("the receipt's finish must be stop, length or tool_calls", "finish");
  const std::size_t positions = receipt.prompt.size() + receipt.reply.size();
  if (positions > static_cast<std::size_t>(model.context))
    refuse("the receipt's prompt and reply have " + std::to_string(positions) +
               " tokens, and the context of this daemon is " + std::to_string(model.context),
           "promptTokens");
}

}  // namespace

ipc::Sampling parameters_of(const engine::Sampling& sampling) {
  ipc::Sampling out;
  out.temperature = openai::shortest(sampling.temperature);
  out.top_p = openai::shortest(sampling.top_p);
  out.min_p = openai::shortest(sampling.min_p);
  out.top_k = sampling.top_k;
  if (sampling.max_tokens > 0) out.max_tokens = sampling.max_tokens;
  out.stop = sampling.stop;
  return out;
}

std::optional<ipc::Receipt> receipt_of(const Exchange& exchange, const engine::Reply& reply) {
  if (exchange.prompt().size() + reply.tokens.size() > ipc::most_receipt_tokens) return std::nullopt;
  const openai::Request& request = exchange.request();
  const openai::ReplyHead head = exchange.head();
  ipc::Receipt out;
  out.canon_version = head.canon_version;
  out.model = head.model;
  out.fingerprint = head.fingerprint;
  out.device = exchange.device();
  out.chat = request.texts.empty();
  if (out.chat) {
    out.thinking = request.conversation.thinking;
    out.tools = request.conversation.tools;
  }
  out.parameters = parameters_of(request.sampling);
  out.parameters.seed = reply.seed;
  out.prompt_sha = reply.prompt_sha;
  out.prompt = exchange.prompt();
  out.finish = openai::finish_name(reply.finish);
  out.token_sha = reply.token_sha;
  out.reply = reply.tokens;
  return out;
}

openai::Request to_request(const ipc::Receipt& receipt, const engine::Engine& engine,
                           const engine::Sampling& defaults) {
  check(receipt, engine.model());
  openai::Request request;
  if (receipt.chat) {
    // The tokens of the prompt are known. Functions and thoughts decide how the reply is read.
    ipc::Chat chat;
    static_cast<ipc::Sampling&>(chat) = receipt.parameters;
    chat.messages.push_back({"user", "", {}, {}, {}});
    chat.tools = receipt.tools;
    chat.thinking = receipt.thinking;
    request = to_request(chat, defaults);
    request.known_prompt = receipt.prompt;
  } else {
    ipc::Complete complete;
    static_cast<ipc::Sampling&>(complete) = receipt.parameters;
    complete.prompt = "known";
    request = to_request(complete, defaults);
    request.texts = {receipt.prompt};
  }
  request.sampling.max_tokens = static_cast<int>(receipt.reply.size());
  request.sampling.fresh = true;
  request.sampling.draft = engine::Sampling::Draft::never;
  return request;
}

// A reply that should have gone on, or ended otherwise, differs behind its last token.
ipc::Verdict verdict_on(const ipc::Receipt& receipt, const engine::Reply& computed,
                        const engine::ModelInfo& model) {
  ipc::Verdict verdict;
  const auto [expected, here] = std::ranges::mismatch(receipt.reply, computed.tokens);
  verdict.equal = expected == receipt.reply.end() && here == computed.tokens.end() &&
                  receipt.finish == openai::finish_name(computed.finish);
  if (!verdict.equal) verdict.position = static_cast<int>(expected - receipt.reply.begin());
  if (expected != receipt.reply.end()) verdict.expected = *expected;
  if (here != computed.tokens.end()) verdict.computed = *here;
  verdict.prompt_tokens = computed.prompt_tokens;
  verdict.reply_tokens = static_cast<int>(computed.tokens.size());
  verdict.device = model.device;
  verdict.seconds = computed.queue_seconds + computed.prompt_seconds + computed.decode_seconds;
  return verdict;
}

}  // namespace lockstep::daemon
