#include "tests/ipc/client/program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>

namespace lockstep::tests {

namespace {

[[noreturn]] void execute(const std::vector<std::string>& arguments, const Setting& setting) {
  const std::string program = LOCKSTEP_BINARY_DIR "/ipc/lockstep";
  std::vector<char*> words{const_cast<char*>(program.c_str())}, environment;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& entry : setting.environment)
    environment.push_back(const_cast<char*>(entry.c_str()));
  words.push_back(nullptr);
  environment.push_back(nullptr);
  ::signal(SIGINT, SIG_DFL);
  ::execve(program.c_str(), words.data(), environment.data());
  ::_exit(99);
}

struct Pipe {
  int read_end, write_end;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) throw std::runtime_error("pipe2");
    read_end = ends[0];
    write_end = ends[1];
  }
};

void resize(int terminal, int columns) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  ::ioctl(terminal, TIOCSWINSZ, &size);
}

// Reads both until they end; -1: none. Interrupts the process when it is time.
void collect(pid_t process, int out, int err, const Setting& setting, Run& run) {
  bool interrupted = setting.interrupt_at.empty();
  size_t typed = 0, seen = 0;
  pollfd sources[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (sources[0].fd >= 0 || sources[1].fd >= 0) {
    if (::poll(sources, 2, 20'000) == 0 || std::chrono::steady_clock::now() > end) {
      ::kill(process, SIGKILL);
      throw std::runtime_error("lockstep hangs; so far: " + run.out + run.err);
    }
    for (int i = 0; i < 2; ++i) {
      if (sources[i].fd < 0 || sources[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(sources[i].fd, buffer, sizeof buffer);
      if (got <= 0) {  // a terminal ends with EIO
        ::close(sources[i].fd);
        sources[i].fd = -1;
      } else {
        (i == 0 ? run.out : run.err).append(buffer, static_cast<size_t>(got));
      }
    }
    while (typed < setting.typed.size() && sources[0].fd >= 0) {
      const auto& [after, keys, columns, signal] = setting.typed[typed];
      const size_t at = run.out.find(after, seen);
      if (at == std::string::npos) break;
      seen = at + after.size();
      ++typed;
      if (signal != 0) ::kill(process, signal);
      if (columns != 0) resize(out, columns);
      if (::write(out, keys.data(), keys.size()) < 0) throw std::runtime_error("the terminal takes no keys");
    }
    if (!interrupted && (run.out + run.err).find(setting.interrupt_at) != std::string::npos) {
      ::kill(process, SIGINT);
      interrupted = true;
    }
  }
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Run run_lockstep(const std::vector<std::string>& arguments, const Setting& setting) {
  Run run;
  if (setting.terminal) {
    int terminal = -1;
    const pid_t process = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (process < 0) throw std::runtime_error("no pseudo-terminal can be had: is /dev/pts mounted?");
    if (process == 0) execute(arguments, setting);
    collect(process, terminal, -1, setting, run);
    run.status = wait_for(process);
    return run;
  }
  Pipe input, output, error;
  const pid_t process = ::fork();
  if (process == 0) {
    ::dup2(input.read_end, STDIN_FILENO);
    ::dup2(output.write_end, STDOUT_FILENO);
    ::dup2(error.write_end, STDERR_FILENO);
    if (setting.no_output) ::close(STDOUT_FILENO);
    execute(arguments, setting);
  }
  ::close(input.read_end);
  ::close(output.write_end);
  ::close(error.write_end);
  if (setting.close_output) ::close(output.read_end);
  if (::write(input.write_end, setting.input.data(), setting.input.size()) < 0)
    run.err += "(input not read) ";
  ::close(input.write_end);
  collect(process, setting.close_output ? -1 : output.read_end, error.read_end, setting, run);
  run.status = wait_for(process);
  return run;
}

}  // namespace lockstep::tests
