// lockstep verify: a receipt's reply, computed anew by the daemon.
#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/input.h"
#include "ipc/client/stream.h"
#include "ipc/client/terminal.h"
#include "ipc/json_reader.h"

namespace lockstep::ipc::client {

namespace {

std::string parameters_of(const std::string& path) {
  std::string text = read_file(path);
  try {
    if (JsonValue::parse(text, most_depth).kind() != JsonValue::Kind::object)
      throw JsonError("no object, as receipts are");
  } catch (const JsonError& error) {
    throw Failure(exit_failed, path + " is " + error.what());
  }
  return "{\"receipt\":" + std::move(text) + "}";
}

std::string sentence(const Verdict& verdict) {
  if (verdict.equal) return "equal\n";
  const auto token = [](const std::optional<int>& id) {
    return id ? "token " + std::to_string(*id) : std::string("the end");
  };
  std::string text = "different at position " + std::to_string(verdict.position.value_or(0)) + ": ";
  if (!verdict.expected && !verdict.computed) return text + "the reply does not end there as it did\n";
  return text + "the receipt has " + token(verdict.expected) + ", this machine computes " +
         token(verdict.computed) + "\n";
}

// The verdict's JSON text, and itself.
std::pair<std::string, Verdict> verdict_of(Connection& connection, Display& display) {
  while (wait_for(connection)) {
    const Reply reply = connection.receive();
    if (reply.error) throw failure_of(*reply.error);
    const VerifyReply part = read_verify_reply(reply.parameters);
    if (const auto* verdict = std::get_if<Verdict>(&part)) return {reply.parameters, *verdict};
    const auto& progress = std::get<Progress>(part);
    display.progress(progress.read, progress.total);
  }
  throw Failure(exit_failed, "interrupted");
}

}  // namespace

int verify(const Arguments& arguments) {
  if (arguments.operands().size() != 1) throw UsageError("one receipt's file is needed");
  const std::string parameters = parameters_of(arguments.operands()[0]);
  const std::string socket = socket_path(arguments);
  Connection connection = connect(socket);
  Display display;
  try {
    connection.call("Verify", parameters, true);
    const auto [text, verdict] = verdict_of(connection, display);
    display.end_line();
    display.line(arguments.given("--json") ? text + "\n" : readable(sentence(verdict)));
    return verdict.equal ? exit_ok : exit_different;
  } catch (const ConnectionError& error) {
    throw failure_of(error, socket);
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
}

}  // namespace lockstep::ipc::client
