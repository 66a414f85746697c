// lockstep ask and lockstep complete.
#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/input.h"
#include "ipc/client/stream.h"
#include "ipc/client/terminal.h"

namespace lockstep::ipc::client {

namespace {

std::string prompt_of(const std::vector<std::string>& words) {
  const std::string question = joined(words);
  std::string context = standard_input();
  while (!context.empty() && context.back() == '\n') context.pop_back();
  if (question.empty() && context.empty()) throw UsageError("a question is missing");
  if (context.empty()) return question;
  return question.empty() ? context : context + "\n\n" + question;
}

int request(const Arguments& arguments, std::string_view method, const std::string& parameters) {
  const std::string socket = socket_path(arguments);
  if (arguments.given("--json")) {
    print_reply(socket, method, parameters);
  } else {
    Display display;
    show_reply(socket, method, parameters, display);
  }
  return exit_ok;
}

}  // namespace

Sampling sampling_of(const Arguments& arguments) {
  Sampling sampling;
  sampling.max_tokens = arguments.count("--max-tokens");
  sampling.temperature = arguments.number("--temperature");
  sampling.seed = arguments.unsigned_integer("--seed");
  return sampling;
}

int ask(const Arguments& arguments) {
  Chat chat;
  static_cast<Sampling&>(chat) = sampling_of(arguments);
  if (const auto system = arguments.value("--system"))
    chat.messages.push_back({"system", *system, {}, {}, {}});
  chat.thinking = arguments.given("--think");
  if (const auto file = arguments.value("--tools")) chat.tools = read_tools(*file);
  chat.messages.push_back({"user", prompt_of(arguments.operands()), {}, {}, {}});
  return request(arguments, "Chat", chat_parameters(chat));
}

int complete(const Arguments& arguments) {
  Complete text;
  static_cast<Sampling&>(text) = sampling_of(arguments);
  if (const auto stop = arguments.value("--stop")) text.stop.push_back(*stop);
  text.prompt = arguments.operands().empty() ? standard_input() : joined(arguments.operands());
  if (text.prompt.empty()) throw UsageError("a text is missing");
  return request(arguments, "Complete", complete_parameters(text));
}

}  // namespace lockstep::ipc::client
