// lockstep status and lockstep models.
#include <unistd.h>

#include <cstdio>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/terminal.h"

namespace lockstep::ipc::client {

namespace {

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  const auto part = [](long long value, const char* unit) { return std::to_string(value) + " " + unit; };
  if (whole < 60) return part(whole, "s");
  if (whole < 3600) return part(whole / 60, "min ") + part(whole % 60, "s");
  if (whole < 86400) return part(whole / 3600, "h ") + part(whole / 60 % 60, "min");
  return part(whole / 86400, "d ") + part(whole / 3600 % 24, "h");
}

std::string count(uint64_t value, const char* what) { return std::to_string(value) + " " + what; }

std::string status_text(const Status& status) {
  std::string text = "lockstepd " + status.version + ", " + status.state + ", up " +
                     duration_text(status.uptime_seconds) + "\n";
  if (!status.model.empty()) text += "model     " + status.model + "\n";
  if (!status.device.empty()) text += "device    " + status.device + "\n";
  text += "now       " + std::to_string(status.active) + " answering, " + std::to_string(status.queued) +
          " waiting\n";
  text += "since     " + count(status.served, "served, ") + count(status.cancelled, "cancelled, ") +
          count(status.refused, "refused, ") + count(status.failed, "failed\n");
  text += "tokens    " + count(status.prompt_tokens, "read, ") + count(status.reply_tokens, "written, ") +
          count(status.rounds, "rounds\n");
  const char* title = "memory    ";
  for (const Pool& pool : status.memory) {
    text += title + pool.name + ": " + bytes_text(pool.used) + " of " + bytes_text(pool.bytes) + " used\n";
    title = "          ";
  }
  return text;
}

std::string models_text(const std::vector<Model>& models) {
  std::string text;
  for (const Model& model : models) {
    text += model.name + ": " + model.family + ", context " +
            count(static_cast<uint64_t>(model.context), "tokens\n");
    text += "  on " + model.device;
    if (!model.device_description.empty()) text += " (" + model.device_description + ")";
    text += "\n  fingerprint " + model.fingerprint + ", canon " + std::to_string(model.canon_version) + "\n";
  }
  return text;
}

void print(const std::string& text) { write_answer(::isatty(STDOUT_FILENO) == 1 ? harmless(text) : text); }

// Runs a query and prints its answer, as it came with --json.
template <class Show>
int query(const Arguments& arguments, std::string_view method, Show show) {
  const std::string parameters = answer_to(arguments, method);
  try {
    print(arguments.given("--json") ? parameters + "\n" : show(parameters));
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
  return exit_ok;
}

}  // namespace

int status(const Arguments& arguments) {
  return query(arguments, "Status",
               [](const std::string& text) { return status_text(read_status_reply(text)); });
}

int models(const Arguments& arguments) {
  return query(arguments, "Models",
               [](const std::string& text) { return models_text(read_models_reply(text)); });
}

}  // namespace lockstep::ipc::client
