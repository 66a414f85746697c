// The real lockstepd as a process of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::test {

class Process {
 public:
  struct Setup {
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;
    std::map<std::string, int> sockets;  // passed as systemd does: name, listening descriptor
    bool journal = false;                // standard error is announced as the journal
    bool no_streams = false;             // the standard streams are not open
  };
  explicit Process(const Setup& setup);
  ~Process();  // kills it if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return pid_; }
  void signal(int number) const;
  int wait();                                    // the exit status, or 1000 + the signal that ended it
  bool wait_for_error(const std::string& text);  // until standard error has it
  std::string errors() const;                    // standard error so far
  std::string output() const;

 private:
  std::filesystem::path out_, err_;
  pid_t pid_;
  bool over_ = false;
};

}  // namespace lockstep::test
