// lockstep check and lockstep snapshots.
#include <cstdio>
#include <ctime>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/stream.h"
#include "ipc/client/terminal.h"
#include "ipc/client/text.h"
#include "ipc/json_writer.h"

namespace lockstep::ipc::client {

namespace {

std::string parameters_of(const Arguments& arguments) {
  JsonWriter json;
  json.begin_object();
  if (const auto trials = arguments.count("--trials")) json.key("trials").integer(*trials);
  if (const auto seed = arguments.unsigned_integer("--seed")) json.key("seed").unsigned_integer(*seed);
  return json.end_object().take();
}

std::string laws_text(const std::vector<LawCount>& laws, bool good) {
  std::vector<std::vector<std::string>> rows;
  for (const LawCount& law : laws)
    rows.push_back({law.law, std::to_string(law.passed), std::to_string(law.failed),
                    law.skipped.empty() ? "" : "skipped: " + law.skipped});
  return table({{"law"}, {"passed", true}, {"failed", true}, {""}}, rows) +
         (good ? "all laws hold\n" : "A LAW IS BROKEN\n");
}

std::string when(int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm local {};
  char text[32];
  ::localtime_r(&time, &local);
  return {text, std::strftime(text, sizeof text, "%F %T", &local)};
}

std::string snapshots_text(const SnapshotList& list) {
  if (list.directory.empty()) return "the daemon keeps no snapshots (lockstepd.toml(5): snapshots)\n";
  if (list.snapshots.empty()) return "nothing is kept yet in " + list.directory + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const Snapshot& one : list.snapshots)
    rows.push_back({when(one.last_used), one.model, std::to_string(one.tokens), bytes_text(one.bytes),
                    one.system ? "end of a system prompt" : ""});
  return table({{"last used"}, {"model"}, {"tokens", true}, {"bytes", true}, {""}}, rows) +
         count(list.entries, "entries and ") + count(list.pages, "shared pages, ") + bytes_text(list.bytes) +
         " of " + bytes_text(list.budget) + " in " + list.directory + "\n";
}

}  // namespace

int check(const Arguments& arguments) {
  const std::string socket = socket_path(arguments);
  Connection connection = connect(socket);
  Display display;
  try {
    connection.call("Check", parameters_of(arguments), true);
    while (wait_for(connection)) {
      const Reply reply = connection.receive();
      if (reply.error) throw failure_of(*reply.error);
      const CheckReply part = read_check_reply(reply.parameters);
      if (const auto* law = std::get_if<LawCount>(&part)) {
        display.working(law->law + ": " + std::to_string(law->passed + law->failed) + " tried");
        continue;
      }
      const auto& laws = std::get<std::vector<LawCount>>(part);
      bool good = true;
      for (const LawCount& law : laws) good = good && law.failed == 0;
      display.line(arguments.given("--json") ? reply.parameters + "\n" : readable(laws_text(laws, good)));
      return good ? exit_ok : exit_different;
    }
    return exit_failed;
  } catch (const ConnectionError& error) {
    throw failure_of(error, socket);
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
}

int snapshots(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.operands();
  const bool known = !words.empty() && (words[0] == "list" || words[0] == "verify" || words[0] == "remove");
  if (!known || words.size() > 2)
    throw UsageError("list, verify or remove is needed, and at most a directory");
  if (words[0] != "list" || words.size() == 2) return files_of_snapshots(arguments);
  return query(arguments, "Snapshots", "{}",
               [](const std::string& reply) { return snapshots_text(read_snapshots_reply(reply)); });
}

}  // namespace lockstep::ipc::client
