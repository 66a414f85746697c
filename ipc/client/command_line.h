// The program's command line: one table of commands and options that parsing and help texts both come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::ipc::client {

// Exit statuses, as lockstep(1) lists them. An interrupt ends the program by its signal (a shell says 130).
enum Exit {
  exit_ok = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_unreachable = 3,
  exit_try_later = 4,
  exit_different = 5
};

struct Option {
  const char* name;      // "--seed"
  const char* argument;  // "N", or null for a switch
  const char* help;
};

class Arguments;

struct Command {
  const char* name;
  const char* operands;  // "QUESTION...", or "" when there are none
  const char* summary;
  const char* details;  // further lines of its help, or ""
  std::span<const Option> options;
  int (*run)(const Arguments&);
};

// Wrong use of the program: one line for the user. Ends with exit_usage.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What stands behind the command's name. Options are those of the command and the common ones.
class Arguments {
 public:
  // Throws UsageError.
  Arguments(const Command& command, std::span<const char* const> words);

  bool given(std::string_view option) const { return value(option).has_value(); }
  std::optional<std::string> value(std::string_view option) const;
  // Throw UsageError when the value is no such number.
  std::optional<int> count(std::string_view option) const;  // 1 to 2^31 - 1
  std::optional<uint64_t> unsigned_integer(std::string_view option) const;
  std::optional<double> number(std::string_view option) const;
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  struct Given {
    const Option* option;
    std::string value;
  };
  std::vector<Given> given_;
  std::vector<std::string> operands_;
};

// Those that every command has.
std::span<const Option> common_options();

std::string help(std::span<const Command> commands);
std::string help(const Command& command);

}  // namespace lockstep::ipc::client
