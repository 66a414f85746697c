#include <cstdio>
#include <fstream>

#include "ipc/client/commands.h"
#include "tests/catch.h"
#include "tests/ipc/client/program.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::ipc::client;
using lockstep::tests::run_lockstep;

namespace {

// What a shell says; empty when it is not installed.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  ::pclose(pipe);
  return text;
}

bool is_installed(const std::string& shell) {
  if (!output_of("command -v " + shell).empty()) return true;
  WARN("skipped: " + shell + " is not installed");
  return false;
}

struct Script {
  lockstep::tools::TemporaryDirectory folder;
  std::string path;
  explicit Script(const std::string& shell) : path((folder.path() / "script").string()) {
    const auto run = run_lockstep({"completion", shell});
    REQUIRE(run.status == 0);
    std::ofstream(path) << run.out;
  }
};

}  // namespace

TEST_CASE("bash completes commands, options, words and files") {
  const Script script("bash");
  const auto completed = [&](const std::string& words, int at) {
    return output_of("cd " + script.folder.path().string() + " && bash -c '. ./script; COMP_WORDS=(" + words +
                     "); COMP_CWORD=" + std::to_string(at) +
                     "; compopt() { :; }; _lockstep; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  };
  CHECK(completed("lockstep co", 1) == "complete\ncompletion\n");
  for (const Command& command : commands())
    for (const Option& option : command.options) {
      INFO(command.name << " " << option.name);
      CHECK(completed(std::string("lockstep ") + command.name + " " + option.name, 2) ==
            std::string(option.name) + "\n");
    }
  CHECK(completed("lockstep completion z", 2) == "zsh\n");
  CHECK(completed("lockstep ask --tools s", 3) == "script\n");
  CHECK(completed("lockstep ask --seed s", 3) == "\n");
  CHECK(completed("lockstep ask --tools = s", 4) == "script\n");
  CHECK(completed("lockstep ask --tools =", 3) == "script\n");
}

TEST_CASE("fish completes commands, options and words") {
  if (!is_installed("fish")) return;
  const Script script("fish");
  const auto completed = [&](const std::string& line) {
    return output_of("HOME=" + script.path + ".home fish -c 'source " + script.path + "; complete -C \"" +
                     line + "\"'");
  };
  CHECK(completed("lockstep toke") == "tokenize\tShow the token ids of a text\n");
  CHECK(completed("lockstep ask --sys").find("--system") == 0);
  CHECK(completed("lockstep completion z") == "zsh\n");
}

TEST_CASE("zsh accepts its completions") {
  if (!is_installed("zsh")) return;
  const Script script("zsh");
  CHECK(output_of("zsh -n " + script.path).empty());
}
