// lockstep models, tokenize and cancel.
#include <unistd.h>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/input.h"
#include "ipc/client/terminal.h"
#include "ipc/client/text.h"

namespace lockstep::ipc::client {

namespace {

std::string models_text(const std::vector<Model>& models) {
  std::string text;
  for (const Model& model : models) {
    text += model.name + ": " + model.family + ", context " +
            count(static_cast<uint64_t>(model.context), "tokens, canon ") +
            std::to_string(model.canon_version) + "\n";
    text += "  on " + model.device;
    if (!model.device_description.empty()) text += " (" + model.device_description + ")";
    text += "\n  fingerprint " + model.fingerprint + "\n";
  }
  return text.empty() ? "nothing yet: the model is being loaded\n" : text;
}

}  // namespace

int models(const Arguments& arguments) {
  return query(arguments, "Models", "{}",
               [](const std::string& reply) { return models_text(read_models_reply(reply)); });
}

int tokenize(const Arguments& arguments) {
  const std::string text = arguments.operands().empty() ? standard_input() : joined(arguments.operands());
  std::string parameters = text_parameters("text", text);
  if (arguments.given("--chat")) {
    Conversation conversation;
    conversation.messages.push_back({"user", text, {}, {}, {}});
    conversation.thinking = false;
    parameters = conversation_parameters(conversation);
  }
  const bool number = arguments.given("--count");
  return query(arguments, "Tokenize", parameters, [number](const std::string& reply) {
    const std::vector<int32_t> tokens = read_tokens_reply(reply);
    return number ? std::to_string(tokens.size()) + "\n" : tokens_text(tokens);
  });
}

int cancel(const Arguments& arguments) {
  if (arguments.operands().size() != 1) throw UsageError("one request's id is needed");
  return query(arguments, "Cancel", text_parameters("id", arguments.operands()[0]),
               [](const std::string&) { return std::string(); });
}

}  // namespace lockstep::ipc::client
