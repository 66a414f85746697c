// What the daemon is told by its files: lockstepd.toml and the drop-ins lockstepd.toml.d/*.toml beside it,
// read in the order of their names, later values winning. One table of keys drives everything.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "daemon/exit_status.h"
#include "daemon/log.h"
#include "engine/engine.h"

namespace lockstep::daemon {

struct Configuration {
  engine::Options engine;
  std::string listen;                // ADDRESS:PORT, or "none"
  std::filesystem::path socket_dir;  // of http.sock and org.lockstep.Inference
  LogLevel log_level = LogLevel::info;
  bool sandbox = true;             // daemon/sandbox/
  std::chrono::seconds drain{20};  // time that running requests get at a stop
  std::chrono::seconds ping{15};   // a comment in a stream that has been silent for so long; 0: never

  // Who may use TCP (daemon/http/guard.h).
  std::filesystem::path api_keys;  // file; empty: systemd's credential, if there is one
  std::vector<std::string> allowed_hosts, allowed_origins;  // beyond this machine's own

  // Sampling where a request does not say; what is missing here too is the model's own.
  struct Defaults {
    std::optional<float> temperature, top_p, min_p;
    std::optional<int> top_k, max_tokens;
  } sampling;
};

// Where things are when nothing says otherwise: the system's places for root and for services, the XDG
// directories for anybody else (who has an XDG_RUNTIME_DIR). Snapshots are kept where a service manager gives
// a CACHE_DIRECTORY for them.
struct Places {
  std::filesystem::path configuration;  // lockstepd.toml
  std::filesystem::path sockets;
  std::filesystem::path snapshots;  // empty: none
};
Places default_places();

// Reads `file` (must exist if `required`) and its drop-ins. Throws StartFailure (configuration): file, line,
// what is wrong.
Configuration read_configuration(const std::filesystem::path& file, bool required, const Places& places);

// Sets one key by its dotted name as the command line does. Throws StartFailure (usage).
void set_key(Configuration& configuration, const std::string& key, const std::string& value);

engine::Sampling with_defaults(engine::Sampling model, const Configuration::Defaults& defaults);

// As TOML, every key that has a value; --check-config prints it.
void print_configuration(const Configuration& configuration, std::ostream& out);

}  // namespace lockstep::daemon
