#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "daemon/anthropic/messages_request.h"
#include "daemon/configuration.h"
#include "daemon/configuration_keys.h"
#include "daemon/events.h"
#include "daemon/http/routes.h"
#include "daemon/openai/chat_request.h"
#include "daemon/openai/completion_request.h"
#include "daemon/openai/responses_request.h"
#include "tests/catch.h"
#include "tests/daemon/process.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

std::string manual(const std::string& name) {
  std::ifstream in(std::string(LOCKSTEP_SOURCE_DIR "/man/") + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What lockstepd.toml(5) says first of a key: name, kind and default, and a sentence.
std::string manual_of(const daemon::ConfigurationKey& key) {
  std::string help(key.help);
  help[0] = static_cast<char>(std::toupper(help[0]));
  return ".It Ic " + std::string(key.name.substr(key.name.find('.') + 1)) + " Pq " + std::string(key.kind) +
         " ; default " + std::string(key.standard) + "\n" + help + ".\n";
}

TEST_CASE(
    "what lockstepd.toml(5) says of its keys is what their table says; LOCKSTEP_WRITE_MANUAL=1 writes it") {
  const std::string page = manual("lockstepd.toml.5");
  std::istringstream lines(page);
  std::string made;
  auto key = daemon::configuration_keys().begin();
  for (std::string line, help; std::getline(lines, line);) {
    if (!line.starts_with(".It Ic ")) {
      made += line + "\n";
      continue;
    }
    std::getline(lines, help);
    REQUIRE(key != daemon::configuration_keys().end());
    made += manual_of(*key++);
  }
  CHECK(key == daemon::configuration_keys().end());
  if (std::getenv("LOCKSTEP_WRITE_MANUAL"))
    std::ofstream(LOCKSTEP_SOURCE_DIR "/man/lockstepd.toml.5") << made;
  CHECK(made == page);
}

TEST_CASE("the packaged lockstepd.toml holds as it is, and with its comments made settings") {
  const std::string file = LOCKSTEP_SOURCE_DIR "/packaging/lockstepd.toml";
  std::ostringstream untouched, standard;
  print_configuration(daemon::read_configuration(file, true, {"", "/run/lockstep", ""}), untouched);
  print_configuration(daemon::read_configuration("/nowhere", false, {"", "/run/lockstep", ""}), standard);
  CHECK(untouched.str() == standard.str());
  TemporaryDirectory directory;
  std::ifstream in(file);
  std::ofstream out(directory.path / "c.toml");
  int settings = 0;
  for (std::string line; std::getline(in, line);) {
    const bool setting = line.starts_with("#") && !line.starts_with("# ");
    settings += setting;
    out << (setting ? line.substr(1) : line) << "\n";
  }
  out.close();
  CHECK(settings >= 4);
  CHECK_NOTHROW(daemon::read_configuration(directory.path / "c.toml", true, {"", "/run/lockstep", ""}));
}

TEST_CASE("lockstep-api(7) names every field and every path") {
  const std::string text = manual("lockstep-api.7");
  using namespace daemon::openai;
  for (const Fields fields : {common_fields(), text_fields(), chat_fields(), completion_fields(),
                              responses_fields(), daemon::anthropic::messages_fields()})
    for (const Field& field : fields) {
      INFO(field.name);
      CHECK(text.find(std::string(field.name)) != std::string::npos);
    }
  for (const daemon::http::Endpoint& endpoint : daemon::http::endpoints())
    CHECK(text.find(std::string(endpoint.path)) != std::string::npos);
  for (const daemon::http::Utility& utility : daemon::http::utilities())
    CHECK(text.find(std::string(utility.path)) != std::string::npos);
}

TEST_CASE(
    "the journal's catalog has a paragraph for each message that an operator has to act on, and no others") {
  std::ifstream in(LOCKSTEP_SOURCE_DIR "/packaging/systemd/lockstep.catalog");
  std::map<std::string, std::string> subjects;
  std::string id;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("-- ")) id = line.substr(3);
    if (line.starts_with("Subject: ")) subjects[id] = line.substr(9);
  }
  CHECK(subjects.size() == daemon::events().size());
  for (const daemon::EventEntry& event : daemon::events()) {
    INFO(event.title);
    CHECK(event.id.size() == 32);
    CHECK(subjects[std::string(event.id)] == event.title);
  }
}

TEST_CASE("lockstepd(8) has every option and command that --help shows, and no other option") {
  const std::string text = manual("lockstepd.8");
  std::set<std::string> known;
  std::vector<std::vector<std::string>> levels = {{"--help"}};
  for (const std::string command : {"selftest", "bench", "check", "inspect", "snapshots"}) {
    levels.push_back({command, "--help"});
    CHECK(text.find(".Cm " + command) != std::string::npos);
  }
  levels.push_back({"bench", "concurrent", "--help"});
  for (const std::vector<std::string>& words : levels) {
    Process help({words, {}, {}, false});
    CHECK(help.wait() == 0);
    const std::string said = help.output();
    for (std::size_t at = said.find("--"); at != std::string::npos; at = said.find("--", at + 2)) {
      const std::size_t end = said.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 2);
      known.insert(said.substr(at + 2, end - at - 2));
    }
  }
  for (const std::string& option : known) {
    INFO("--" << option);
    CHECK(text.find("Fl -" + option) != std::string::npos);
  }
  for (std::size_t at = text.find("Fl -"); at != std::string::npos; at = text.find("Fl -", at + 4)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 4);
    INFO("--" << text.substr(at + 4, end - at - 4));
    CHECK(known.contains(text.substr(at + 4, end - at - 4)));
  }
}

}  // namespace
}  // namespace lockstep::test
