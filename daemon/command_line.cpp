#include "daemon/command_line.h"

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <iostream>

namespace lockstep::daemon {
namespace {

// Options that set the configuration key of the same name.
struct Override {
  const char* option;
  const char* key;
  const char* kind;
  const char* help;
};
constexpr std::array overrides{
    Override{"--model", "model", "DIR", "directory of the checkpoint"},
    Override{"--device", "device", "NAME", "what computes, or auto"},
    Override{"--threads", "threads", "N", "CPU threads that compute"},
    Override{"--listen", "listen", "ADDRESS:PORT", "address of HTTP, or none"},
    Override{"--socket-dir", "socket_dir", "DIR", "directory of the Unix sockets"},
};

// Paths on the command line are relative to where it was typed.
std::string in_full(const Override& which, const std::string& value) {
  const bool path = std::string_view(which.kind) == "DIR";
  return path && !value.empty() ? std::filesystem::absolute(value).string() : value;
}

}  // namespace

CommandLine read_command_line(int argc, const char* const* argv) {
  CommandLine command;
  CLI::App app("Serves a language model: HTTP for OpenAI clients, and a local protocol.", "lockstepd");
  const Places places = default_places();
  std::string file;
  bool check = false, sandbox = false;
  std::array<std::string, overrides.size()> values;
  CLI::Option* config =
      app.add_option("--config", file, "default: " + places.configuration.string())->type_name("FILE");
  app.add_flag("--check-config", check, "check the configuration, print it and exit");
  app.add_flag("--print-sandbox", sandbox, "confine this process, print how, and exit");
  app.set_version_flag("--version", LOCKSTEP_VERSION);
  std::array<CLI::Option*, overrides.size()> options;
  for (std::size_t i = 0; i < overrides.size(); ++i)
    options[i] = app.add_option(overrides[i].option, values[i], overrides[i].help)
                     ->type_name(overrides[i].kind)
                     ->take_last();
  CLI::App* self_test = app.add_subcommand("selftest", "check the device's operations; options go before");
  CLI::App* bench = app.add_subcommand("bench", "measure instead of serving; options go before");
  bench->require_subcommand(1);
  CLI::App* kernels = bench->add_subcommand("kernels", "single operations beside what the machine can do");
  CLI::App* model =
      bench->add_subcommand("model", "prompts and decoding of the model, beside a copy of memory");
  CLI::App* concurrent =
      bench->add_subcommand("concurrent", "chats at once, drafted and not, replies compared");
  concurrent->add_option("--levels", command.concurrent.levels, "numbers of streams")
      ->delimiter(',')
      ->check(CLI::Range(1, 256))
      ->type_name("N,N...");
  concurrent->add_flag("--alone", command.concurrent.alone, "also the speed of each request alone");
  concurrent->add_flag("--serial", command.concurrent.serial, "also the speed of all one after the other");
  CLI::App* cache = bench->add_subcommand("cache", "first token of a prompt: new, in memory, on disk");
  CLI::App* chat = bench->add_subcommand("chat", "what the turns of conversations read, and how fast");
  CLI::App* gap = bench->add_subcommand("gap", "what a stream notices of a long prompt beside it");
  CLI::App* laws = app.add_subcommand("check", "try the laws on the model instead of serving");
  laws->add_option("--trials", command.trials, "random requests for each law")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->type_name("N");
  laws->add_option("--seed", command.seed, "of the random requests")->capture_default_str()->type_name("N");

  CLI::App* inspect = app.add_subcommand("inspect", "show what a checkpoint consists of and needs");
  std::string inspected;
  inspect->add_option("DIR", inspected, "directory of the checkpoint")->required();
  inspect->add_flag("--json", command.json, "as one line of JSON");
  std::string place;
  CLI::App* snapshots = app.add_subcommand("snapshots", "look into the directory of snapshots");
  snapshots->require_subcommand(1);
  std::array<CLI::App*, 3> of_snapshots = {
      snapshots->add_subcommand("list", "what is kept, the last used first"),
      snapshots->add_subcommand("verify", "read every file and compare its checksums"),
      snapshots->add_subcommand("remove", "remove all; no daemon may be using them")};
  for (CLI::App* one : of_snapshots)
    one->add_option("directory", place, "default: the configured one")->type_name("DIR");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    command.status = app.exit(error) == 0 ? ExitStatus::success : ExitStatus::usage;
    return command;
  }
  command.configuration =
      read_configuration(config->count() > 0 ? std::filesystem::absolute(file) : places.configuration,
                         config->count() > 0, places);
  for (std::size_t i = 0; i < overrides.size(); ++i)
    if (options[i]->count() > 0)
      set_key(command.configuration, overrides[i].key, in_full(overrides[i], values[i]));
  if (inspect->parsed())
    set_key(command.configuration, "model", std::filesystem::absolute(inspected).string());
  using Action = CommandLine::Action;
  command.action = self_test->parsed()         ? Action::self_test
                   : kernels->parsed()         ? Action::bench_kernels
                   : model->parsed()           ? Action::bench_model
                   : concurrent->parsed()      ? Action::bench_concurrent
                   : cache->parsed()           ? Action::bench_cache
                   : chat->parsed()            ? Action::bench_chat
                   : gap->parsed()             ? Action::bench_gap
                   : laws->parsed()            ? Action::check
                   : of_snapshots[0]->parsed() ? Action::list_snapshots
                   : of_snapshots[1]->parsed() ? Action::verify_snapshots
                   : of_snapshots[2]->parsed() ? Action::remove_snapshots
                   : inspect->parsed()         ? Action::inspect
                   : check                     ? Action::check_config
                   : sandbox                   ? Action::print_sandbox
                                               : Action::serve;
  if (!place.empty()) command.configuration.engine.snapshots = std::filesystem::absolute(place);
  if (snapshots->parsed() && command.configuration.engine.snapshots.empty())
    throw StartFailure(ExitStatus::usage,
                       "no directory of snapshots is configured; name it after the command (the service's is "
                       "/var/cache/lockstep)");
  return command;
}

}  // namespace lockstep::daemon
