#include "daemon/sandbox/sandbox.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "daemon/log.h"
#include "daemon/sandbox/system_calls.h"

namespace lockstep::daemon::sandbox {
namespace {

namespace fs = std::filesystem;

// sys/prctl.h of Debian 12 is older.
constexpr int set_memory_deny_write_execute = 65;
constexpr unsigned long refuse_exec_gain = 1;

// Libraries, those that are loaded later too, and what the C library reads.
constexpr const char* of_system[] = {"/usr/lib",
                                     "/usr/lib32",
                                     "/usr/lib64",
                                     "/usr/local/lib",
                                     "/lib",
                                     "/lib64",
                                     "/etc/ld.so.cache",
                                     "/etc/ssl/openssl.cnf",
                                     "/etc/localtime",
                                     "/usr/share/zoneinfo",
                                     "/proc/meminfo",
                                     "/proc/sys/vm/overcommit_memory",
                                     "/proc/self",
                                     "/sys/devices/system",
                                     "/sys/fs/cgroup",
                                     "/dev/urandom"};
constexpr const char* of_gpus[] = {"/usr", "/opt", "/proc", "/sys", "/etc/nsswitch.conf", "/etc/group"};
constexpr const char* devices_of_gpus[] = {"/dev/kfd", "/dev/dri", "/dev/nvidiactl", "/dev/nvidia-uvm",
                                           "/dev/nvidia-uvm-tools"};

const char* in_words(Access access) {
  switch (access) {
    case Access::read: return "read";
    case Access::device: return "read, write, control";
    case Access::store: return "read, write, make and remove files";
    case Access::remove_files: return "remove files";
    case Access::remove_folders: return "remove empty folders";
  }
  return "";
}

// Checkpoints are often folders of links to files that are elsewhere.
void add_folder_and_targets(std::vector<PathRule>& rules, const fs::path& folder) {
  rules.push_back({folder, Access::read});
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code broken;
    if (!entry->is_symlink(broken)) continue;
    const fs::path target = fs::canonical(entry->path(), broken);
    if (!broken) rules.push_back({target, Access::read});
  }
}

bool manager_is_abstract() {
  const char* manager = std::getenv("NOTIFY_SOCKET");
  return manager && *manager == '@';
}

}  // namespace

void close_inherited() {
  const int sockets = std::max(0, sd_listen_fds(0));
  syscall(SYS_close_range, SD_LISTEN_FDS_START + sockets, ~0u, 0);
}

bool Sandbox::may_use_gpu() const {
  const std::string& device = configuration_.engine.device;
  if (device.starts_with("cpu") || device == "reference") return false;
  std::error_code error;
  return fs::exists("/dev/kfd", error) || fs::exists("/dev/nvidiactl", error);
}

std::vector<PathRule> Sandbox::rules(bool owns_sockets, bool owns_directory) const {
  std::vector<PathRule> rules;
  for (const char* path : of_system) rules.push_back({path, Access::read});
  rules.push_back({"/dev/null", Access::device});
  add_folder_and_targets(rules, configuration_.engine.model);
  // SIGHUP reads keys again, from a file that may have been replaced.
  if (!configuration_.api_keys.empty())
    rules.push_back({configuration_.api_keys.parent_path(), Access::read});
  if (const char* credentials = std::getenv("CREDENTIALS_DIRECTORY"))
    rules.push_back({credentials, Access::read});
  if (!configuration_.engine.snapshots.empty())
    rules.push_back({configuration_.engine.snapshots, Access::store});
  if (owns_sockets) rules.push_back({configuration_.socket_dir, Access::remove_files});
  if (owns_directory) rules.push_back({configuration_.socket_dir.parent_path(), Access::remove_folders});
  if (may_use_gpu()) {
    for (const char* path : of_gpus) rules.push_back({path, Access::read});
    for (const char* path : devices_of_gpus) rules.push_back({path, Access::device});
    for (const char* path : {"/dev/shm", "/tmp"}) rules.push_back({path, Access::store});  // ROCm needs both
    rules.push_back({"/proc/self/task", Access::device});  // cuInit() fails where it cannot name its threads
    for (int i = 0; i < 16; ++i) rules.push_back({"/dev/nvidia" + std::to_string(i), Access::device});
  }
  std::error_code error;
  std::erase_if(rules, [&](const PathRule& rule) { return !fs::exists(rule.path, error); });
  return rules;
}

void Sandbox::confine(bool owns_sockets, bool owns_directory) {
  if (!configuration_.sandbox) return;
  // The engine would make it; the rule needs it.
  const fs::path& store = configuration_.engine.snapshots;
  std::error_code error;
  if (!store.empty() && fs::create_directories(store, error))
    fs::permissions(store, fs::perms::owner_all, error);
  no_privileges_ = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  if (!may_use_gpu()) no_new_code_ = prctl(set_memory_deny_write_execute, refuse_exec_gain, 0, 0, 0) == 0;
  const int version = landlock_version();
  if (version == 0) {
    log_warning("files are not confined: this kernel has no Landlock, or it is turned off");
    return;
  }
  rules_ = rules(owns_sockets, owns_directory);
  try {
    confine_with_landlock(version, rules_, manager_is_abstract());
    landlock_ = version;
  } catch (const std::system_error& failure) {
    log_warning(std::string("files are not confined: ") + failure.what());
  }
}

void Sandbox::confine_calls() {
  if (!configuration_.sandbox) return;
  const CallFilter filter = call_filter(may_use_gpu());
  try {
    confine_system_calls(filter);
    calls_ = filter.calls;
    no_new_code_ = !may_use_gpu();
  } catch (const std::system_error& failure) {
    log_warning(std::string("system calls are not confined: ") + failure.what());
  }
}

std::string Sandbox::summary() const {
  if (!configuration_.sandbox) return "none, as configured";
  std::string parts;
  const auto add = [&](bool there, const std::string& part) {
    if (there) parts += (parts.empty() ? "" : ", ") + part;
  };
  add(no_privileges_, "privileges");
  add(landlock_ > 0, "files");
  add(landlock_ >= 4, "TCP");
  add(landlock_ >= 6, "signals");
  add(calls_ > 0, "system calls");
  add(no_new_code_, "new code");
  return parts.empty() ? "none, this kernel has none" : parts;
}

std::string Sandbox::text() const {
  if (!configuration_.sandbox) return "sandbox = \"off\": nothing is confined\n";
  std::string text = "privileges: ";
  text += no_privileges_ ? "none can be gained\n" : "not confined\n";
  if (landlock_ == 0) {
    text += "files, TCP, signals: not confined\n";
  } else {
    text += "files (Landlock " + std::to_string(landlock_) +
            "): nothing can be executed, and of what is not below these paths nothing be opened, made or "
            "removed\n";
    for (const PathRule& rule : rules_)
      text += "  " + rule.path.string() + ": " + in_words(rule.access) + "\n";
    text += landlock_ >= 4 ? "TCP: no connection, no further listener\n" : "TCP: as system calls say\n";
    text += landlock_ >= 6 ? "other processes: no signal, no abstract socket\n"
                           : "other processes: as system calls say\n";
  }
  text +=
      calls_
          ? "system calls (seccomp): " + std::to_string(calls_) +
                "; no exec, fork, ptrace, kill, connect, bind, mount or io_uring, no socket but Unix ones\n"
          : "system calls: not confined\n";
  text += no_new_code_ ? "memory: what was writable is never executed\n"
                       : "memory: not confined, as GPU runtimes write code\n";
  return text;
}

}  // namespace lockstep::daemon::sandbox
