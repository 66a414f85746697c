#include "daemon/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockstep::daemon::sandbox {
namespace {

// As linux/landlock.h has them; the one of Debian 12 ends with version 2.
struct RulesetAttributes {
  uint64_t handled_files;
  uint64_t handled_net;  // from version 4
  uint64_t scoped;       // from version 6
};
struct [[gnu::packed]] PathBeneath {
  uint64_t allowed;
  int32_t parent;
};
constexpr int rule_path_beneath = 1;
constexpr uint32_t ask_version = 1;

enum Right : uint64_t {
  execute = 1 << 0,
  write_file = 1 << 1,
  read_file = 1 << 2,
  read_dir = 1 << 3,
  remove_dir = 1 << 4,
  remove_file = 1 << 5,
  make_reg = 1 << 8,
  truncate = 1 << 14,
  ioctl_dev = 1 << 15,
};
constexpr uint64_t of_files = execute | write_file | read_file | truncate | ioctl_dev;
constexpr uint64_t bind_and_connect_tcp = 3;
constexpr uint64_t abstract_unix_socket = 1, signal = 2;

// Every right on files that a version knows: what is not handled is not confined.
uint64_t handled_files(int version) {
  const int rights = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  return (uint64_t(1) << rights) - 1;
}

std::size_t size_of_attributes(int version) {
  return version >= 6 ? sizeof(RulesetAttributes) : version >= 4 ? 16 : 8;
}

uint64_t rights(Access access) {
  switch (access) {
    case Access::read: return read_file | read_dir;
    case Access::device: return read_file | read_dir | write_file | truncate | ioctl_dev;
    case Access::store: return read_file | read_dir | write_file | truncate | make_reg | remove_file;
    case Access::remove_files: return remove_file;
    case Access::remove_folders: return remove_dir;
  }
  return 0;
}

struct Descriptor {
  int number;
  explicit Descriptor(int n) : number(n) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void add_rule(int ruleset, uint64_t handled, const PathRule& rule) {
  const Descriptor parent(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (parent.number < 0) return;
  struct stat about {};
  if (fstat(parent.number, &about) != 0) return;
  uint64_t allowed = rights(rule.access) & handled;
  if (!S_ISDIR(about.st_mode)) allowed &= of_files;
  const PathBeneath attributes{allowed, parent.number};
  if (syscall(SYS_landlock_add_rule, ruleset, rule_path_beneath, &attributes, 0) != 0)
    fail(rule.path.string());
}

}  // namespace

int landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, ask_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

void confine_with_landlock(int version, const std::vector<PathRule>& rules, bool abstract_sockets) {
  const RulesetAttributes attributes{handled_files(version), bind_and_connect_tcp,
                                     signal | (abstract_sockets ? 0 : abstract_unix_socket)};
  const Descriptor ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size_of_attributes(version), 0)));
  if (ruleset.number < 0) fail("no ruleset can be made");
  for (const PathRule& rule : rules) add_rule(ruleset.number, attributes.handled_files, rule);
  if (syscall(SYS_landlock_restrict_self, ruleset.number, 0) != 0) fail("the ruleset cannot be taken on");
}

}  // namespace lockstep::daemon::sandbox
