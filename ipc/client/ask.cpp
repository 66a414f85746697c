#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/terminal.h"
#include "ipc/json_reader.h"
#include "ipc/json_writer.h"
#include "ipc/utf8.h"

namespace lockstep::ipc::client {

namespace {

// All of a file, at most what a message could carry. Throws Failure.
std::string read_all(int descriptor, const std::string& name) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure(exit_failed, name + " cannot be read: " + std::strerror(errno));
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > most_message_bytes)
      throw Failure(exit_failed, name + " is longer than the " + std::to_string(most_message_bytes >> 20) +
                                     " MiB a request may have");
  }
  if (!is_utf8(text)) throw Failure(exit_failed, name + " is not UTF-8 text");
  return text;
}

std::string context_of_standard_input() {
  const bool open = ::fcntl(STDIN_FILENO, F_GETFD) >= 0;
  return open && ::isatty(STDIN_FILENO) != 1 ? read_all(STDIN_FILENO, "standard input") : "";
}

std::string prompt_of(const std::vector<std::string>& words) {
  std::string question;
  for (const std::string& word : words) question += (question.empty() ? "" : " ") + word;
  if (!is_utf8(question)) throw Failure(exit_usage, "the question is not UTF-8 text");
  std::string context = context_of_standard_input();
  while (!context.empty() && context.back() == '\n') context.pop_back();
  if (question.empty() && context.empty()) throw UsageError("a question is missing");
  if (context.empty()) return question;
  return question.empty() ? context : context + "\n\n" + question;
}

std::vector<std::string> tools_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw Failure(exit_failed, path + " cannot be opened: " + std::strerror(errno));
  const std::string text = read_all(descriptor, path);
  ::close(descriptor);
  std::vector<std::string> tools;
  try {
    const JsonValue root = JsonValue::parse(text, most_depth);
    if (root.kind() != JsonValue::Kind::array) throw JsonError("not an array of functions");
    root.each_element([&](JsonValue tool) { tools.emplace_back(tool.text()); });
  } catch (const JsonError& error) {
    throw Failure(exit_failed, path + " is " + error.what());
  }
  return tools;
}

Chat chat_of(const Arguments& arguments) {
  Chat chat;
  if (const auto system = arguments.value("--system"))
    chat.messages.push_back({"system", *system, {}, {}, {}});
  chat.max_tokens = arguments.count("--max-tokens");
  chat.temperature = arguments.number("--temperature");
  chat.seed = arguments.unsigned_integer("--seed");
  chat.thinking = arguments.given("--think");
  if (const auto file = arguments.value("--tools")) chat.tools = tools_of(*file);
  chat.messages.push_back({"user", prompt_of(arguments.operands()), {}, {}, {}});
  return chat;
}

// Pieces of calls, joined.
void collect(std::vector<ToolCall>& calls, const std::vector<CallPiece>& pieces) {
  for (const CallPiece& piece : pieces) {
    if (piece.index < 0 || piece.index > static_cast<int>(calls.size()))
      throw ProtocolError("the daemon's reply has calls out of order");
    if (piece.index == static_cast<int>(calls.size())) calls.emplace_back();
    ToolCall& call = calls[static_cast<size_t>(piece.index)];
    call.name += piece.name;
    call.arguments += piece.arguments;
  }
}

// {"name":…,"arguments":{…}}; arguments that were cut short are given as text.
std::string line_of(const ToolCall& call) {
  JsonWriter json;
  json.begin_object().key("name").text(call.name).key("arguments");
  try {
    json.raw(JsonValue::parse(call.arguments, most_depth).text());
  } catch (const JsonError&) {
    json.text(call.arguments);
  }
  return json.end_object().take() + "\n";
}

// Waits for the daemon, and for the end of whoever reads the answer.
void wait_for(Connection& connection) {
  while (!connection.has_message()) {
    pollfd events[] = {{connection.descriptor(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    if (::poll(events, 2, -1) < 0 && errno != EINTR) return;
    if (events[1].revents & POLLERR) Display::end_if_unread();
    if (events[0].revents) return;
  }
}

void show_stream(Connection& connection, Display& display) {
  std::vector<ToolCall> calls;
  while (true) {
    wait_for(connection);
    const Reply reply = connection.receive();
    if (reply.error) throw failure_of(*reply.error);
    const auto part = read_chat_reply(reply.parameters);
    if (const auto* progress = std::get_if<Progress>(&part)) {
      display.progress(progress->read, progress->total);
    } else if (const auto* delta = std::get_if<Delta>(&part)) {
      if (!delta->reasoning.empty()) display.thought(delta->reasoning);
      display.answer(delta->content);
      collect(calls, delta->calls);
    } else if (const auto* over = std::get_if<Final>(&part)) {
      display.end_line();
      for (const ToolCall& call : calls) display.answer(line_of(call));
      if (over->finish == "length")
        display.notice("the answer was cut off after " + std::to_string(over->reply_tokens) +
                       " tokens: --max-tokens or the model's context was reached");
      return;
    }
  }
}

}  // namespace

int ask(const Arguments& arguments) {
  const Chat chat = chat_of(arguments);
  const std::string path = socket_path(arguments);
  Connection connection = connect(path);
  Display display;
  try {
    const bool stream = !arguments.given("--json");
    connection.call("Chat", chat_parameters(chat), stream);
    if (stream) {
      show_stream(connection, display);
      return exit_ok;
    }
    wait_for(connection);
    const Reply reply = connection.receive();
    if (reply.error) throw failure_of(*reply.error);
    write_answer(final_text(reply.parameters) + "\n");
    return exit_ok;
  } catch (const ConnectionError& error) {
    display.end_line();
    throw failure_of(error, path);
  } catch (const Failure&) {
    display.end_line();
    throw;
  }
}

}  // namespace lockstep::ipc::client
