// What the user gives a command to read. Failures are Failure.
#pragma once

#include <string>
#include <vector>

namespace lockstep::ipc::client {

// All of a file, UTF-8, at most what a message could carry.
std::string read_file(const std::string& path);

// All of standard input; empty when it is a terminal or not open.
std::string standard_input();

// Operands joined by blanks.
std::string joined(const std::vector<std::string>& words);

// A file of functions that the model may call: the elements of its JSON array.
std::vector<std::string> read_tools(const std::string& path);

}  // namespace lockstep::ipc::client
