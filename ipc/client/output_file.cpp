#include "ipc/client/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "ipc/client/daemon.h"

namespace lockstep::ipc::client {

namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Failure(exit_failed, path + " cannot be written: " + std::strerror(error));
}

// 0, or what went wrong; the descriptor is closed.
int write_and_close(int file, std::string_view text, bool flush) {
  int error = file < 0 ? errno : 0;
  while (error == 0 && !text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    if (written < 0 && errno != EINTR) error = errno;
  }
  if (flush && error == 0 && ::fsync(file) < 0) error = errno;
  if (file >= 0 && ::close(file) < 0 && error == 0) error = errno;
  return error;
}

// Where a link leads.
std::string target_of(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

bool is_special(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

void check_writable(const std::string& path) {
  const std::string target = target_of(path);
  if (path.empty() || path.back() == '/' || std::filesystem::is_directory(target)) fail(path, EISDIR);
  const std::string checked = is_special(target) ? target : folder_of(target);
  if (::access(checked.c_str(), W_OK) < 0) fail(path, errno);
}

void write_file(const std::string& path, std::string_view text) {
  const std::string target = target_of(path);
  if (is_special(target)) {
    const int error = write_and_close(::open(target.c_str(), O_WRONLY | O_CLOEXEC), text, false);
    if (error != 0) fail(path, error);
    return;
  }
  std::string beside = target + ".XXXXXX";
  const int file = ::mkostemp(beside.data(), O_CLOEXEC);
  int error = write_and_close(file, text, true);
  if (error == 0 && ::rename(beside.c_str(), target.c_str()) < 0) error = errno;
  if (file >= 0 && error != 0) ::unlink(beside.c_str());
  if (error != 0) fail(path, error);
}

}  // namespace lockstep::ipc::client
