#include "daemon/obstacle.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/catch.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

// As a user who owns nothing, in a process of its own.
std::string obstacle_for_others(const std::filesystem::path& path) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(1);
    const std::string text = daemon::obstacle(path);
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  return text;
}

TEST_CASE("F83 what is in the way to a model is named: the element, its owner and mode, and the remedy") {
  TemporaryDirectory directory;
  const std::filesystem::path closed = directory.path / "closed", folder = closed / "model";
  std::filesystem::create_directories(folder);
  REQUIRE(chmod(directory.path.c_str(), 0711) == 0);
  REQUIRE(chmod(folder.c_str(), 0755) == 0);
  REQUIRE(chmod(closed.c_str(), 0755) == 0);
  CHECK(obstacle_for_others(folder).empty());
  CHECK(obstacle_for_others(folder / "missing").empty());
  // The owner may not pass either, where tests do not run as root.
  REQUIRE(chmod(closed.c_str(), 0600) == 0);
  const std::string passing = obstacle_for_others(folder);
  CHECK_THAT(passing, Catch::StartsWith(closed.string() + " belongs to "));
  CHECK_THAT(passing, Catch::Contains("has mode 0600") && Catch::Contains("may not pass through it"));
  REQUIRE(chmod(closed.c_str(), 0711) == 0);
  REQUIRE(chmod(folder.c_str(), 0311) == 0);
  CHECK_THAT(obstacle_for_others(folder), Catch::Contains("may not read it; open it with chmod"));
  REQUIRE(chmod(folder.c_str(), 0755) == 0);
}

}  // namespace
}  // namespace lockstep::test
