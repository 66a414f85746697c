#include "ipc/client/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ipc/client/daemon.h"
#include "ipc/json_reader.h"
#include "ipc/utf8.h"

namespace lockstep::ipc::client {

namespace {

std::string read_all(int descriptor, const std::string& name) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure(exit_failed, name + " cannot be read: " + std::strerror(errno));
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > most_message_bytes)
      throw Failure(exit_failed, name + " is longer than the " + std::to_string(most_message_bytes >> 20) +
                                     " MiB a request may have");
  }
  if (!is_utf8(text)) throw Failure(exit_failed, name + " is not UTF-8 text");
  return text;
}

}  // namespace

std::string read_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw Failure(exit_failed, path + " cannot be opened: " + std::strerror(errno));
  try {
    std::string text = read_all(descriptor, path);
    ::close(descriptor);
    return text;
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

std::string standard_input() {
  const bool open = ::fcntl(STDIN_FILENO, F_GETFD) >= 0;
  return open && ::isatty(STDIN_FILENO) != 1 ? read_all(STDIN_FILENO, "standard input") : "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  if (!is_utf8(text)) throw Failure(exit_usage, "the words on the command line are not UTF-8 text");
  return text;
}

std::vector<std::string> read_tools(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::string> tools;
  try {
    const JsonValue root = JsonValue::parse(text, most_depth);
    if (root.kind() != JsonValue::Kind::array) throw JsonError("not an array of functions");
    root.each_element([&](JsonValue tool) { tools.emplace_back(tool.text()); });
  } catch (const JsonError& error) {
    throw Failure(exit_failed, path + " is " + error.what());
  }
  return tools;
}

}  // namespace lockstep::ipc::client
