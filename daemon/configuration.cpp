#include "daemon/configuration.h"

#include <unistd.h>

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>

#include "daemon/configuration_keys.h"
#include "daemon/limits.h"

namespace lockstep::daemon {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& text) {
  throw StartFailure(ExitStatus::configuration, file.string() + ": " + text);
}

[[noreturn]] void refuse(const fs::path& file, const toml::source_position& at, const std::string& text) {
  refuse(file.string() + ":" + std::to_string(at.line), text);
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text;
  if (in) {
    text.resize(limits::configuration_bytes + 1);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) refuse(file, "cannot be read (" + std::string(std::strerror(errno)) + ")");
  if (text.size() > limits::configuration_bytes)
    refuse(file, "is longer than " + std::to_string(limits::configuration_bytes) + " bytes");
  return text;
}

GivenValue given_value(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  if (const toml::array* items = node.as_array()) {
    std::vector<std::string> texts;
    for (const toml::node& item : *items)
      if (const auto* text = item.as_string()) texts.push_back(text->get());
    if (texts.size() == items->size()) return texts;
  }
  return std::monostate();
}

bool is_section(const std::string& name) {
  return std::ranges::any_of(configuration_keys(),
                             [&](const ConfigurationKey& key) { return key.name.starts_with(name + "."); });
}

void apply(const toml::table& table, const std::string& prefix, const fs::path& file,
           Configuration& configuration) {
  for (auto&& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const toml::source_position at = key.source().begin;
    if (const auto* section = node.as_table(); section && is_section(name)) {
      apply(*section, name + ".", file, configuration);
      continue;
    }
    const ConfigurationKey* known = find_key(name);
    if (!known)
      refuse(file, at, "unknown key '" + name + "'; did you mean '" + std::string(nearest_key(name)) + "'?");
    try {
      known->set(configuration, given_value(node));
    } catch (const BadValue& error) {
      refuse(file, at, "'" + name + "' " + error.what());
    }
  }
}

void apply_file(const fs::path& file, Configuration& configuration) {
  const std::string text = read_file(file);
  try {
    const toml::table table = toml::parse(std::string_view(text));
    apply(table, "", file, configuration);
  } catch (const toml::parse_error& error) {
    refuse(file, error.source().begin, "is not TOML: " + std::string(error.description()));
  }
}

std::vector<fs::path> drop_ins(const fs::path& file) {
  std::vector<fs::path> found;
  const fs::path directory = file.string() + ".d";
  std::error_code ec;
  for (fs::directory_iterator entry(directory, ec), end; !ec && entry != end; entry.increment(ec))
    if (entry->path().extension() == ".toml") found.push_back(entry->path());
  if (ec && ec != std::errc::no_such_file_or_directory)
    refuse(directory, "cannot be read (" + ec.message() + ")");
  std::ranges::sort(found, {}, [](const fs::path& path) { return path.filename().string(); });
  return found;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value == '/' ? value : nullptr;
}

}  // namespace

Places default_places() {
  fs::path snapshots;
  if (const char* cache = environment("CACHE_DIRECTORY"))
    snapshots = std::string_view(cache).substr(0, std::string_view(cache).find(':'));
  const char* runtime = environment("XDG_RUNTIME_DIR");
  if (geteuid() == 0 || !runtime) return {"/etc/lockstep/lockstepd.toml", "/run/lockstep", snapshots};
  fs::path home;
  if (const char* given = environment("XDG_CONFIG_HOME")) {
    home = given;
  } else if (const char* user = environment("HOME")) {
    home = fs::path(user) / ".config";
  }
  return {home / "lockstep/lockstepd.toml", fs::path(runtime) / "lockstep", snapshots};
}

Configuration read_configuration(const fs::path& file, bool required, const Places& places) {
  Configuration configuration;
  for (const char* name : {"model", "listen"}) {
    const ConfigurationKey* key = find_key(name);
    key->set(configuration, std::string(key->standard));
  }
  configuration.socket_dir = places.sockets;
  configuration.engine.snapshots = places.snapshots;
  std::error_code ec;
  if (required || fs::exists(file, ec)) apply_file(file, configuration);
  for (const fs::path& drop_in : drop_ins(file)) apply_file(drop_in, configuration);
  return configuration;
}

void set_key(Configuration& configuration, const std::string& key, const std::string& value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool integer = error == std::errc() && end == value.data() + value.size();
  try {
    find_key(key)->set(configuration, integer ? GivenValue(number) : GivenValue(value));
  } catch (const BadValue& bad) {
    throw StartFailure(ExitStatus::usage, "the command line: '" + key + "' " + bad.what());
  }
}

engine::Sampling with_defaults(engine::Sampling model, const Configuration::Defaults& defaults) {
  model.temperature = defaults.temperature.value_or(model.temperature);
  model.top_p = defaults.top_p.value_or(model.top_p);
  model.min_p = defaults.min_p.value_or(model.min_p);
  model.top_k = defaults.top_k.value_or(model.top_k);
  model.max_tokens = defaults.max_tokens.value_or(model.max_tokens);
  return model;
}

void print_configuration(const Configuration& configuration, std::ostream& out) {
  for (const ConfigurationKey& key : configuration_keys()) {
    const std::string value = key.show(configuration);
    if (!value.empty()) out << key.name << " = " << value << "\n";
  }
}

}  // namespace lockstep::daemon
