// Loaded into lockstepd before its libraries: when the daemon tells its service manager that it is ready,
// this tries to get out from where the daemon is, and says on standard error how each attempt ended, as an
// errno or 0. It is also run without the sandbox, as root: nothing here may do harm where it succeeds.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// `result` as system calls give it.
void tell(const char* attempt, long result) {
  const std::string line =
      std::string("escape ") + attempt + "=" + std::to_string(result < 0 ? errno : 0) + "\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

std::string given(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

long run_program() {
  const pid_t child = fork();
  if (child < 0) {
    // So that fork() alone does not decide.
    char program[] = "/bin/true";
    char* words[] = {program, nullptr};
    tell("exec", execv(program, words));
    return -1;
  }
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  errno = WEXITSTATUS(status);
  return errno ? -1 : 0;
}

long connect_tcp() {
  const int out = socket(AF_INET, SOCK_STREAM, 0);
  if (out < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(given("ESCAPE_PORT"))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(out, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

long connect_unix() {
  const int out = socket(AF_UNIX, SOCK_STREAM, 0);
  if (out < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  given("ESCAPE_SOCKET").copy(address.sun_path, sizeof address.sun_path - 1);
  return connect(out, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

long read_parent() {
  char here[1];
  const iovec local{here, 1}, remote{&here, 1};
  return process_vm_readv(getppid(), &local, 1, &remote, 1, 0) < 0 && errno != EFAULT ? -1 : 0;
}

long write_code() {
  const int every = PROT_READ | PROT_WRITE | PROT_EXEC;
  return mmap(nullptr, 4096, every, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

long make_code() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? 0 : mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

void try_everything() {
  const std::string folder = given("ESCAPE_FOLDER");
  tell("model", open((given("ESCAPE_MODEL") + "/config.json").c_str(), O_RDONLY));  // may be read
  tell("passwords", open("/etc/shadow", O_RDONLY));
  tell("users", open("/etc/passwd", O_RDONLY));
  tell("list", open("/home", O_RDONLY | O_DIRECTORY));
  tell("environment", open(("/proc/" + std::to_string(getppid()) + "/environ").c_str(), O_RDONLY));
  tell("write", open((folder + "/written").c_str(), O_WRONLY | O_CREAT, 0600));
  tell("link", symlink("/etc/passwd", (folder + "/link").c_str()));
  tell("folder", mkdir((folder + "/made").c_str(), 0700));
  tell("change", open((given("ESCAPE_MODEL") + "/config.json").c_str(), O_WRONLY));
  tell("remove", unlink((folder + "/victim").c_str()));
  tell("mode", chmod(folder.c_str(), 0700));
  tell("run", run_program());
  tell("tcp", connect_tcp());
  tell("unix", connect_unix());
  tell("raw", socket(AF_NETLINK, SOCK_RAW, 0));
  tell("trace", ptrace(PTRACE_PEEKDATA, getppid(), nullptr, nullptr));
  tell("memory", read_parent());
  tell("signal", kill(getppid(), 0));
  tell("code", write_code());
  tell("turned", make_code());
  tell("terminal", ioctl(STDERR_FILENO, TIOCSTI, "x"));
  tell("namespace", unshare(CLONE_NEWUSER));
  tell("mount", mount("none", (folder + "/nowhere").c_str(), "tmpfs", 0, nullptr));
  tell("uring", syscall(SYS_io_uring_setup, 1, nullptr));
  tell("bpf", syscall(SYS_bpf, BPF_PROG_LOAD, nullptr, 0));
  tell("key", syscall(SYS_keyctl, 0, 0, 0));
  tell("user", setuid(getuid()));
}

}  // namespace

extern "C" int sd_notify(int unset, const char* state) {
  // Said by the thread that loads, before system calls are confined.
  if (std::strncmp(state, "STATUS=Loading", 14) == 0)
    tell("users while loading", open("/etc/passwd", O_RDONLY));
  if (std::strcmp(state, "READY=1") == 0) try_everything();
  const auto real = reinterpret_cast<int (*)(int, const char*)>(dlsym(RTLD_NEXT, "sd_notify"));
  return real(unset, state);
}
