#include "daemon/configuration_keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "daemon/json/value.h"

namespace lockstep::daemon {
namespace {

using Given = GivenValue;

// TOML's basic strings and JSON's have the same escapes.
std::string quoted(const std::string& text) { return json::write(json::Value(text)); }

std::string shown(const Given& given) {
  struct Show {
    std::string operator()(std::monostate) const { return "a table, date or array of other things"; }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return json::write(json::Value(number)); }
    std::string operator()(const std::string& text) const { return quoted(text); }
    std::string operator()(const std::vector<std::string>&) const { return "an array of strings"; }
  };
  return std::visit(Show{}, given);
}

[[noreturn]] void refuse(const std::string& wanted, const Given& given) {
  throw BadValue("must be " + wanted + ", not " + shown(given));
}

int integer(const Given& given, int low, int high) {
  const int64_t* number = std::get_if<int64_t>(&given);
  if (!number || *number < low || *number > high)
    refuse("an integer from " + std::to_string(low) + " to " + std::to_string(high), given);
  return static_cast<int>(*number);
}

float number(const Given& given, int low, int high) {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (const double* real = std::get_if<double>(&given)) value = *real;
  if (const int64_t* whole = std::get_if<int64_t>(&given)) value = static_cast<double>(*whole);
  if (!(value >= low && value <= high))
    refuse("a number from " + std::to_string(low) + " to " + std::to_string(high), given);
  return static_cast<float>(value);
}

const std::string& text(const Given& given, const char* wanted) {
  const std::string* value = std::get_if<std::string>(&given);
  if (!value || value->empty()) refuse(wanted, given);
  return *value;
}

std::filesystem::path path(const Given& given) {
  std::filesystem::path value = text(given, "an absolute path");
  if (!value.is_absolute()) refuse("an absolute path", given);
  value = value.lexically_normal();
  return value.has_filename() ? value : value.parent_path();
}

// An array of strings that `good` likes.
std::vector<std::string> texts(const Given& given, const char* wanted, bool (*good)(const std::string&)) {
  const auto* values = std::get_if<std::vector<std::string>>(&given);
  if (!values) refuse(wanted, given);
  for (const std::string& value : *values)
    if (!good(value)) refuse(wanted, value);
  return *values;
}

std::string show_texts(const std::vector<std::string>& values) {
  json::Array items;
  for (const std::string& value : values) items.emplace_back(value);
  return values.empty() ? "" : json::write(json::Value(std::move(items)));
}

bool is_host(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_") == std::string::npos;
}

// "https://chat.example:3000": as browsers write it.
bool is_origin(const std::string& text) {
  const std::size_t scheme = text.find("://");
  return scheme != std::string::npos && scheme > 0 && scheme + 3 < text.size() &&
         text.find_first_of("/ *", scheme + 3) == std::string::npos;
}

// "12 GiB", "900MiB", a number of bytes, or "auto" (0) where there is such a thing.
uint64_t size(const Given& given, bool automatic = true) {
  const char* wanted = automatic ? "\"auto\", a number of bytes, or a size such as \"12 GiB\""
                                 : "a number of bytes, or a size such as \"12 GiB\"";
  if (const int64_t* bytes = std::get_if<int64_t>(&given)) {
    if (*bytes < 1) refuse(wanted, given);
    return static_cast<uint64_t>(*bytes);
  }
  const std::string& value = text(given, wanted);
  if (automatic && value == "auto") return 0;
  uint64_t count = 0;
  const char* last = value.data() + value.size();
  auto [unit, error] = std::from_chars(value.data(), last, count);
  while (unit != last && *unit == ' ') ++unit;
  static constexpr std::array<std::pair<std::string_view, int>, 4> units{
      {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};
  for (const auto& [name, bits] : units)
    if (error == std::errc() && count > 0 && std::string_view(unit, last) == name &&
        count <= UINT64_MAX >> bits)
      return count << bits;
  refuse(wanted, given);
}

std::string show_size(uint64_t bytes) {
  if (bytes == 0) return "\"auto\"";
  if (bytes % (1u << 20) == 0) return "\"" + std::to_string(bytes >> 20) + " MiB\"";
  return std::to_string(bytes);
}

constexpr std::array level_names{"error", "warning", "info", "debug"};

LogLevel level(const Given& given) {
  const std::string* value = std::get_if<std::string>(&given);
  for (std::size_t i = 0; value && i < level_names.size(); ++i)
    if (*value == level_names[i]) return static_cast<LogLevel>(i);
  refuse("\"error\", \"warning\", \"info\" or \"debug\"", given);
}

template <typename T>
std::string show_optional(const std::optional<T>& value) {
  return value ? json::write(json::Value(*value)) : "";
}

constexpr ConfigurationKey keys[] = {
    {"model", "absolute path", "/usr/share/lockstep/models/starter", "directory of the checkpoint to serve",
     [](Configuration& c, const Given& v) { c.engine.model = path(v); },
     [](const Configuration& c) { return quoted(c.engine.model); }},
    {"device", "string", "auto", "what computes: a name that this machine has, or auto",
     [](Configuration& c, const Given& v) { c.engine.device = text(v, "the name of a device, or \"auto\""); },
     [](const Configuration& c) { return quoted(c.engine.device); }},
    {"threads", "integer from 0 to 1024", "0", "CPU threads that compute; 0: one for each CPU",
     [](Configuration& c, const Given& v) { c.engine.threads = integer(v, 0, 1024); },
     [](const Configuration& c) { return std::to_string(c.engine.threads); }},
    {"memory", "size, or auto", "auto",
     "bytes for weights, caches, states and scratch; auto: 3/4 of what is available",
     [](Configuration& c, const Given& v) { c.engine.memory = size(v); },
     [](const Configuration& c) { return show_size(c.engine.memory); }},
    {"cache", "size, or auto", "auto",
     "memory for the prompt cache, part of memory; auto: half of what is left, at most 1 GiB",
     [](Configuration& c, const Given& v) { c.engine.cache = size(v); },
     [](const Configuration& c) { return show_size(c.engine.cache); }},
    {"snapshots", "absolute path, or none", "the service's CACHE_DIRECTORY, else none",
     "directory that keeps conversations for the next start; one daemon's own",
     [](Configuration& c, const Given& v) {
       c.engine.snapshots = v == Given("none") ? std::filesystem::path() : path(v);
     },
     [](const Configuration& c) {
       return quoted(c.engine.snapshots.empty() ? "none" : c.engine.snapshots.string());
     }},
    {"snapshot_budget", "size", "4 GiB", "most bytes in that directory",
     [](Configuration& c, const Given& v) { c.engine.snapshot_budget = size(v, false); },
     [](const Configuration& c) { return show_size(c.engine.snapshot_budget); }},
    {"context", "integer from 0 to 16777216", "0",
     "tokens of prompt and reply that a request may use; 0: the model's own limit",
     [](Configuration& c, const Given& v) { c.engine.context = integer(v, 0, 1 << 24); },
     [](const Configuration& c) { return std::to_string(c.engine.context); }},
    {"lanes", "integer from 1 to 256", "16", "requests served at once",
     [](Configuration& c, const Given& v) { c.engine.lanes = integer(v, 1, 256); },
     [](const Configuration& c) { return std::to_string(c.engine.lanes); }},
    {"queue", "integer from 0 to 4096", "64", "requests that wait for a lane; more are refused with 429",
     [](Configuration& c, const Given& v) { c.engine.queue = integer(v, 0, 4096); },
     [](const Configuration& c) { return std::to_string(c.engine.queue); }},
    {"chunk", "integer from 1 to 4096", "512", "prompt tokens read in one round",
     [](Configuration& c, const Given& v) { c.engine.chunk = integer(v, 1, 4096); },
     [](const Configuration& c) { return std::to_string(c.engine.chunk); }},
    {"listen", "address:port, or none", "127.0.0.1:8420",
     "TCP address of HTTP; any but a loopback address needs api_keys",
     [](Configuration& c, const Given& v) { c.listen = text(v, "ADDRESS:PORT or \"none\""); },
     [](const Configuration& c) { return quoted(c.listen); }},
    {"socket_dir", "absolute path", "/run/lockstep",
     "directory of the Unix sockets http.sock and org.lockstep.Inference",
     [](Configuration& c, const Given& v) { c.socket_dir = path(v); },
     [](const Configuration& c) { return quoted(c.socket_dir); }},
    {"log_level", "error, warning, info or debug", "info",
     "what the log tells; info has a line for each request",
     [](Configuration& c, const Given& v) { c.log_level = level(v); },
     [](const Configuration& c) { return quoted(level_names[static_cast<std::size_t>(c.log_level)]); }},
    {"sandbox", "on or off", "on", "whether the daemon gives up what it needs no longer once it runs",
     [](Configuration& c, const Given& v) {
       const std::string& value = text(v, "\"on\" or \"off\"");
       if (value != "on" && value != "off") refuse("\"on\" or \"off\"", v);
       c.sandbox = value == "on";
     },
     [](const Configuration& c) { return quoted(c.sandbox ? "on" : "off"); }},
    {"drain_seconds", "integer from 0 to 3600", "20",
     "time that running requests get when the daemon is stopped",
     [](Configuration& c, const Given& v) { c.drain = std::chrono::seconds(integer(v, 0, 3600)); },
     [](const Configuration& c) { return std::to_string(c.drain.count()); }},
    {"api_keys", "absolute path", "none", "file with the hashes of the keys that clients on TCP must show",
     [](Configuration& c, const Given& v) { c.api_keys = path(v); },
     [](const Configuration& c) { return c.api_keys.empty() ? "" : quoted(c.api_keys); }},
    {"allowed_hosts", "array of names", "none",
     "names in Host that are served besides addresses and localhost",
     [](Configuration& c, const Given& v) {
       c.allowed_hosts = texts(v, "an array of host names in small letters, without a port", is_host);
     },
     [](const Configuration& c) { return show_texts(c.allowed_hosts); }},
    {"allowed_origins", "array of origins", "none",
     "web pages that may use this server besides this machine's",
     [](Configuration& c, const Given& v) {
       c.allowed_origins = texts(v, "an array of origins such as \"https://chat.example\"", is_origin);
     },
     [](const Configuration& c) { return show_texts(c.allowed_origins); }},
    {"ping_seconds", "integer from 0 to 3600", "15",
     "silence after which a stream gets a comment, so that nobody takes it for dead; 0: never",
     [](Configuration& c, const Given& v) { c.ping = std::chrono::seconds(integer(v, 0, 3600)); },
     [](const Configuration& c) { return std::to_string(c.ping.count()); }},
    {"sampling.temperature", "number from 0 to 2", "the model's", "for requests that do not say",
     [](Configuration& c, const Given& v) { c.sampling.temperature = number(v, 0, 2); },
     [](const Configuration& c) { return show_optional(c.sampling.temperature); }},
    {"sampling.top_p", "number from 0 to 1", "the model's", "for requests that do not say",
     [](Configuration& c, const Given& v) { c.sampling.top_p = number(v, 0, 1); },
     [](const Configuration& c) { return show_optional(c.sampling.top_p); }},
    {"sampling.top_k", "integer from 0 to 1000000", "the model's", "for requests that do not say; 0: all",
     [](Configuration& c, const Given& v) { c.sampling.top_k = integer(v, 0, 1'000'000); },
     [](const Configuration& c) { return show_optional(c.sampling.top_k); }},
    {"sampling.min_p", "number from 0 to 1", "the model's", "for requests that do not say",
     [](Configuration& c, const Given& v) { c.sampling.min_p = number(v, 0, 1); },
     [](const Configuration& c) { return show_optional(c.sampling.min_p); }},
    {"sampling.max_tokens", "integer from 1 to 16777216", "what the context leaves",
     "for requests that do not say",
     [](Configuration& c, const Given& v) { c.sampling.max_tokens = integer(v, 1, 1 << 24); },
     [](const Configuration& c) { return show_optional(c.sampling.max_tokens); }},
};

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const ConfigurationKey> configuration_keys() { return keys; }

const ConfigurationKey* find_key(std::string_view name) {
  const auto key = std::ranges::find(keys, name, &ConfigurationKey::name);
  return key == std::end(keys) ? nullptr : key;
}

std::string_view nearest_key(std::string_view name) {
  return std::ranges::min(keys, {}, [&](const ConfigurationKey& key) { return distance(name, key.name); })
      .name;
}

}  // namespace lockstep::daemon
