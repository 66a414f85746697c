#include "engine/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/files/refuse.h"

namespace lockstep::engine {

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO would wait for a writer.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int error = errno;
    const char* remedy = error == ENOENT   ? "; copy or download the model again"
                         : error == EACCES ? "; let the daemon's user read it and enter its directories"
                         : error == EMFILE ? "; raise the limit of open files"
                                           : "";
    refuse("cannot open ", quoted(path_), ": ", reason(error), remedy);
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    refuse(quoted(path_), " is not a file; copy or download the model again");
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(uint64_t offset, void* to, size_t bytes) const {
  constexpr size_t most = size_t{1} << 30;  // Linux moves at most 2 GiB in one call
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(descriptor_, static_cast<char*>(to) + done, std::min(bytes - done, most),
                                static_cast<off_t>(offset + done));
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (got == 0) {
      struct stat status {};
      ::fstat(descriptor_, &status);
      refuse(quoted(path_), " shrank while it was read: it was ", size_, " bytes long and is now ",
             status.st_size, "; copy or download the model again");
    } else if (errno != EINTR) {
      refuse("cannot read ", quoted(path_), " at byte ", offset + done, ": ", reason(errno),
             "; check the disk, then copy or download the model again");
    }
  }
}

std::string read_text(const std::filesystem::path& path, uint64_t most) {
  InputFile file(path);
  if (file.size() > most)
    refuse(quoted(path), " is ", file.size(), " bytes long, more than the ", most, " that are read");
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

}  // namespace lockstep::engine
