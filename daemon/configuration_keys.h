// The table of configuration keys. Used by configuration.cpp; separate so that the table reads as one.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/configuration.h"

namespace lockstep::daemon {

// A value as a file or the command line gives it. monostate: of a kind that no key takes.
using GivenValue = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;

// The value does not fit the key; what() goes on after the key's name.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ConfigurationKey {
  std::string_view name;  // dotted
  std::string_view kind;  // in words, with its range
  std::string_view standard;
  std::string_view help;
  void (*set)(Configuration&, const GivenValue&);  // throws BadValue
  std::string (*show)(const Configuration&);       // as TOML
};

std::span<const ConfigurationKey> configuration_keys();
const ConfigurationKey* find_key(std::string_view name);
std::string_view nearest_key(std::string_view name);

}  // namespace lockstep::daemon
