#include "ipc/client/command_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ipc/client/text.h"

namespace lockstep::ipc::client {

namespace {

constexpr Option common[] = {
    {"--socket", "PATH",
     "the daemon's socket (default: $LOCKSTEP_SOCKET, else the user's, else the system's)"},
    {"--help", nullptr, "show this text"},
};

const Option* find_option(const Command& command, std::string_view name) {
  for (const auto options : {command.options, std::span<const Option>(common)})
    for (const Option& option : options)
      if (name == option.name) return &option;
  return nullptr;
}

template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr int help_width = 79;

// Columns of "left  right", lefts padded to the longest; one that is far longer than others has its own line.
std::string columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  constexpr size_t most = 26;
  size_t width = 0;
  for (const auto& [left, right] : rows)
    if (left.size() <= most) width = std::max(width, left.size());
  const int indent = static_cast<int>(width) + 4;
  const std::string under = "\n" + std::string(width + 4, ' ');
  std::string text;
  for (const auto& [left, right] : rows) {
    const std::string gap = left.size() > width ? under : std::string(width + 2 - left.size(), ' ');
    std::string lines = filled(right, help_width - indent);
    for (size_t at = 0; (at = lines.find('\n', at)) != lines.npos; at += under.size())
      lines.replace(at, 1, under);
    text += "  " + left + gap + lines + "\n";
  }
  return text;
}

}  // namespace

std::span<const Option> common_options() { return common; }

Arguments::Arguments(const Command& command, std::span<const char* const> words) {
  bool options_end = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i];
    if (options_end || word.size() < 2 || word[0] != '-') {
      operands_.push_back(word);
      continue;
    }
    if (word == "--") {
      options_end = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* option = find_option(command, name);
    if (!option) throw UsageError("unknown option " + name);
    if (given(name)) throw UsageError(name + " is given twice");
    if (!option->argument && equals != std::string::npos) throw UsageError(name + " takes no value");
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (option->argument) {
      if (i + 1 == words.size()) throw UsageError(name + " needs a value: " + option->argument);
      value = words[++i];
    }
    given_.push_back({option, value});
  }
  if (!operands_.empty() && *command.operands == '\0' && !given("--help"))
    throw UsageError("unexpected argument " + operands_.front());
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  for (const Given& given : given_)
    if (option == given.option->name) return given.value;
  return std::nullopt;
}

std::optional<int> Arguments::count(std::string_view option) const {
  const auto text = value(option);
  if (!text) return std::nullopt;
  const auto number = parse<int>(*text);
  if (!number || *number < 1) throw UsageError(std::string(option) + " must be a whole number from 1");
  return number;
}

std::optional<uint64_t> Arguments::unsigned_integer(std::string_view option) const {
  const auto text = value(option);
  if (!text) return std::nullopt;
  const auto number = parse<uint64_t>(*text);
  if (!number) throw UsageError(std::string(option) + " must be a whole number from 0 to 2^64 - 1");
  return number;
}

std::optional<double> Arguments::number(std::string_view option) const {
  const auto text = value(option);
  if (!text) return std::nullopt;
  const auto number = parse<double>(*text);
  if (!number || !std::isfinite(*number)) throw UsageError(std::string(option) + " must be a number");
  return number;
}

std::string help(std::span<const Command> commands) {
  std::string text =
      "Usage: lockstep COMMAND [OPTION]...\nAsk the language model that this machine's lockstepd serves.\n\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Command& command : commands)
    rows.emplace_back(std::string(command.name) + " " + command.operands, command.summary);
  text += "Commands:\n" + columns(rows);
  rows = {{"--help", "show this text; after a command, its options"}, {"--version", "show the version"}};
  text += "\nOptions:\n" + columns(rows);
  text +=
      "\nExit status: 0 done, 1 refused or failed, 2 wrong usage, 3 daemon not reached,\n"
      "4 daemon busy or not ready: try again later, 5 verify or check found a\n"
      "difference, 130 interrupted. See lockstep(1).\n";
  return text;
}

std::string help(const Command& command) {
  std::string text = std::string("Usage: lockstep ") + command.name + " [OPTION]...";
  if (*command.operands) text += std::string(" ") + command.operands;
  text += filled(std::string("\n") + command.summary + ".\n" + command.details, help_width) + "\nOptions:\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto options : {command.options, std::span<const Option>(common)})
    for (const Option& option : options)
      rows.emplace_back(
          std::string(option.name) + (option.argument ? std::string(" ") + option.argument : ""),
          option.help);
  return text + columns(rows);
}

}  // namespace lockstep::ipc::client
