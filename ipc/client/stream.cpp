#include "ipc/client/stream.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "ipc/client/daemon.h"
#include "ipc/json_reader.h"
#include "ipc/json_writer.h"

namespace lockstep::ipc::client {

namespace {

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

Shown show_stream(Connection& connection, Display& display) {
  Shown shown;
  while (wait_for(connection)) {
    const Reply reply = connection.receive();
    if (reply.error) throw failure_of(*reply.error);
    const auto part = read_chat_reply(reply.parameters);
    if (const auto* progress = std::get_if<Progress>(&part)) {
      display.progress(progress->read, progress->total);
    } else if (const auto* delta = std::get_if<Delta>(&part)) {
      if (!delta->reasoning.empty()) display.thought(delta->reasoning);
      display.answer(delta->content);
      shown.reasoning += delta->reasoning;
      shown.content += delta->content;
      collect(shown.calls, delta->calls);
    } else if (const auto* over = std::get_if<Final>(&part)) {
      display.end_line();
      for (const ToolCall& call : shown.calls) display.line(line_of(call));
      if (over->finish == "length")
        display.notice("the answer was cut off after " + std::to_string(over->reply_tokens) +
                       " tokens: --max-tokens or the model's context was reached");
      shown.final = *over;
      return shown;
    }
  }
  display.end_line();
  return shown;
}

}  // namespace

bool wait_for(Connection& connection) {
  while (!connection.has_message()) {
    pollfd events[] = {{connection.descriptor(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    if (interrupted()) return false;
    if (::poll(events, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return true;
    }
    if (events[1].revents & POLLERR) Display::end_if_unread();
    if (events[0].revents) return true;
  }
  return !interrupted();
}

Shown show_reply(const std::string& socket, std::string_view method, std::string_view parameters,
                 Display& display) {
  Connection connection = connect(socket);
  try {
    connection.call(method, parameters, true);
    return show_stream(connection, display);
  } catch (const ConnectionError& error) {
    display.end_line();
    throw failure_of(error, socket);
  } catch (const ProtocolError& error) {
    display.end_line();
    throw Failure(exit_failed, error.what());
  } catch (const Failure&) {
    display.end_line();
    throw;
  }
}

std::string whole_reply(const std::string& socket, std::string_view method, std::string_view parameters) {
  Connection connection = connect(socket);
  const Display display;
  try {
    connection.call(method, parameters, false);
    wait_for(connection);
    Reply reply = connection.receive();
    if (reply.error) throw failure_of(*reply.error);
    return std::move(reply.parameters);
  } catch (const ConnectionError& error) {
    throw failure_of(error, socket);
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
}

}  // namespace lockstep::ipc::client
