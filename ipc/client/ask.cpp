// lockstep ask and lockstep complete.
#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/input.h"
#include "ipc/client/output_file.h"
#include "ipc/client/stream.h"
#include "ipc/client/terminal.h"
#include "ipc/client/text.h"

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

// A receipt is asked for when its tokens are wanted, too.
bool wants_receipt(const Arguments& arguments) {
  if (arguments.given("--tokens") && arguments.given("--json"))
    throw UsageError("--tokens and --json exclude each other");
  if (const auto file = arguments.value("--receipt")) check_writable(*file);
  return arguments.given("--receipt") || arguments.given("--tokens");
}

const Receipt& receipt_of(const Final& final) {
  if (!final.receipt)
    throw Failure(exit_failed, "prompt and answer have more tokens than a receipt can: " +
                                   std::to_string(most_receipt_tokens));
  return *final.receipt;
}

int request(const Arguments& arguments, std::string_view method, const std::string& parameters) {
  const std::string socket = socket_path(arguments);
  std::optional<Final> final;
  if (arguments.given("--json") || arguments.given("--tokens")) {
    const std::string reply = whole_reply(socket, method, parameters);
    const ChatReply part = read_chat_reply(reply);
    if (const auto* over = std::get_if<Final>(&part)) final = *over;
    if (final)
      write_answer(arguments.given("--json") ? final_text(reply) + "\n"
                                             : tokens_text(receipt_of(*final).reply));
  } else {
    Display display;
    final = show_reply(socket, method, parameters, display).final;
  }
  const auto file = arguments.value("--receipt");
  if (file && final) write_file(*file, receipt_text(receipt_of(*final)) + "\n");
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
  chat.receipt = wants_receipt(arguments);
  chat.messages.push_back({"user", prompt_of(arguments.operands()), {}, {}, {}});
  return request(arguments, "Chat", chat_parameters(chat));
}

int complete(const Arguments& arguments) {
  Complete text;
  static_cast<Sampling&>(text) = sampling_of(arguments);
  if (const auto stop = arguments.value("--stop")) text.stop.push_back(*stop);
  text.prompt = arguments.operands().empty() ? standard_input() : joined(arguments.operands());
  text.receipt = wants_receipt(arguments);
  if (text.prompt.empty()) throw UsageError("a text is missing");
  return request(arguments, "Complete", complete_parameters(text));
}

}  // namespace lockstep::ipc::client
