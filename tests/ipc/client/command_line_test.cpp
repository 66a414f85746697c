#include "ipc/client/command_line.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "ipc/client/commands.h"
#include "tests/catch.h"
#include "tests/ipc/client/program.h"

using namespace lockstep::ipc::client;
using lockstep::tests::run_lockstep;

namespace {

Arguments ask_arguments(std::vector<const char*> words) { return Arguments(commands()[0], words); }

std::string refusal(std::vector<const char*> words) {
  try {
    const Arguments arguments = ask_arguments(std::move(words));
    arguments.count("--max-tokens");
    arguments.number("--temperature");
    arguments.unsigned_integer("--seed");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options and operands mix, and both spellings of a value work") {
  const Arguments arguments =
      ask_arguments({"a", "--seed=7", "-", "--json", "--max-tokens", "3", "--", "--json"});
  CHECK(arguments.operands() == std::vector<std::string>{"a", "-", "--json"});
  CHECK(arguments.unsigned_integer("--seed") == 7);
  CHECK(arguments.count("--max-tokens") == 3);
  CHECK(arguments.given("--json"));
  CHECK_FALSE(arguments.number("--temperature"));
  CHECK(ask_arguments({"--system="}).value("--system") == "");
}

TEST_CASE("wrong use is refused by name") {
  CHECK(refusal({"--sed", "7"}) == "unknown option --sed");
  CHECK(refusal({"-x"}) == "unknown option -x");
  CHECK(refusal({"--seed"}) == "--seed needs a value: N");
  CHECK(refusal({"--json=1"}) == "--json takes no value");
  CHECK(refusal({"--json", "--json"}) == "--json is given twice");
  CHECK(refusal({"--seed", "-1"}) == "--seed must be a whole number from 0 to 2^64 - 1");
  CHECK(refusal({"--max-tokens", "0"}) == "--max-tokens must be a whole number from 1");
  CHECK(refusal({"--max-tokens", "5x"}) == "--max-tokens must be a whole number from 1");
  for (const char* number : {"nan", "inf", "1e999", "", "0,5"})
    CHECK(refusal({"--temperature", number}) == "--temperature must be a number");
  CHECK(run_lockstep({}).status == exit_usage);
  CHECK(run_lockstep({"aks"}).err == "lockstep: unknown command aks (see lockstep --help)\n");
  CHECK(run_lockstep({"status", "now"}).err ==
        "lockstep status: unexpected argument now (see lockstep status --help)\n");
}

TEST_CASE("help lists every command and option of the table, in 79 columns") {
  const auto fits = [](const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.size() > 79) return false;
    return true;
  };
  const auto in_one_line = [](std::string text) {
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;)
      text.replace(at, text.find_first_not_of("\n ", at) - at, " ");
    return text;
  };
  const auto all = run_lockstep({"--help"});
  CHECK(all.status == exit_ok);
  CHECK(fits(all.out));
  for (const Command& command : commands()) {
    CHECK(in_one_line(all.out).find(command.summary) != std::string::npos);
    const auto own = run_lockstep({command.name, "--help"});
    INFO(own.out);
    CHECK(own.status == exit_ok);
    CHECK(fits(own.out));
    for (const Option& option : command.options)
      CHECK(in_one_line(own.out).find(option.help) != std::string::npos);
  }
  CHECK(run_lockstep({"--version"}).out.substr(0, 9) == "lockstep ");
}

TEST_CASE("the manual page knows every command and option") {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/man/lockstep.1");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const Command& command : commands()) {
    CHECK(page.find(std::string(".It Cm ") + command.name) != std::string::npos);
    for (const Option& option : command.options) {
      INFO(option.name);
      CHECK(page.find(std::string(".It Fl ") + (option.name + 1)) != std::string::npos);
    }
  }
}
