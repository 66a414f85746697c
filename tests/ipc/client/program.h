// Runs the lockstep program as a shell or a terminal would.
#pragma once

#include <string>
#include <vector>

namespace lockstep::tests {

struct Run {
  int status = 0;  // exit status, or 128 + the signal that ended it
  std::string out, err;
};

struct Setting {
  std::string input{};                     // standard input's text
  std::vector<std::string> environment{};  // "NAME=value"; nothing is inherited
  bool terminal = false;                   // all three streams are one terminal; its output is in `out`
  bool close_output = false;               // standard output's reader is gone from the start
  std::string interrupt_at{};              // send SIGINT when `out` or `err` contains this
  bool no_output = false;                  // standard output is not open
  struct Keys {
    std::string after;  // text that has come to the terminal since the keys before
    std::string keys;
    int columns = 0;  // not 0: the terminal has another width
    int signal = 0;   // not 0: is sent to the program
  };
  std::vector<Keys> typed{};  // at the terminal
};

Run run_lockstep(const std::vector<std::string>& arguments, const Setting& setting = {});

}  // namespace lockstep::tests
