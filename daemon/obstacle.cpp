#include "daemon/obstacle.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace lockstep::daemon {
namespace {

namespace fs = std::filesystem;

std::string user(uid_t number) {
  const passwd* entry = getpwuid(number);
  return entry ? entry->pw_name : std::to_string(number);
}

// systemd puts an empty directory that nobody may enter in the place of one that a unit hides.
bool hidden_by_unit(const fs::path& element) {
  const bool home = element == "/home" || element == "/root" || element == "/run/user";
  return home && std::getenv("INVOCATION_ID");
}

}  // namespace

std::string obstacle(const fs::path& path) {
  fs::path element;
  for (const fs::path& part : path) {
    element /= part;
    const bool folder = fs::is_directory(element) || element != path;
    if (faccessat(AT_FDCWD, element.c_str(), folder ? R_OK | X_OK : R_OK, AT_EACCESS) == 0) continue;
    // A directory on the way need not be listed.
    const bool on_the_way = element != path;
    if (on_the_way && faccessat(AT_FDCWD, element.c_str(), X_OK, AT_EACCESS) == 0) continue;
    if (errno != EACCES) return "";
    if (hidden_by_unit(element))
      return element.string() +
             " is hidden by ProtectHome= of the unit; lockstepd(8), \"The unit's\", has a drop-in that shows "
             "a model in it";
    struct stat about {};
    char mode[8] = "?";
    std::string owner = "somebody";
    if (stat(element.c_str(), &about) == 0) {
      std::snprintf(mode, sizeof mode, "%04o", about.st_mode & 07777u);
      owner = user(about.st_uid);
    }
    return element.string() + " belongs to " + owner + " and has mode " + mode + ", so that user " +
           user(geteuid()) + (on_the_way ? " may not pass through it" : " may not read it") +
           "; open it with chmod, or move the model to /var/lib/lockstep/models";
  }
  return "";
}

}  // namespace lockstep::daemon
