// What `lockstepd snapshots` shows and does, without a running engine.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iomanip>
#include <ostream>
#include <system_error>

#include "engine/engine.h"
#include "engine/memory/budget.h"
#include "engine/snapshots/record.h"

namespace lockstep::engine {
namespace {

struct File {
  std::string name;
  RecordName what;
  uint64_t bytes;
  time_t used;
};

// The store's files, the last used first.
std::vector<File> files_in(const std::filesystem::path& directory) {
  std::vector<File> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    const std::optional<RecordName> what = read_name(name);
    struct stat status {};
    if (what && ::lstat(at->path().c_str(), &status) == 0)
      files.push_back({name, *what, static_cast<uint64_t>(status.st_size), status.st_mtime});
  }
  if (error) throw SnapshotError(directory.string() + " cannot be read (" + error.message() + ")");
  std::ranges::sort(files, [](const File& a, const File& b) {
    return a.used != b.used ? a.used > b.used : a.name < b.name;
  });
  return files;
}

}  // namespace

SnapshotFiles snapshots_in(const std::filesystem::path& directory) {
  SnapshotFiles found;
  for (const File& file : files_in(directory)) {
    found.bytes += file.bytes;
    if (file.what.kind == Record::Kind::page)
      ++found.pages;
    else
      found.entries.push_back({file.what.root, file.what.length, file.bytes, file.used, file.what.system});
  }
  return found;
}

void list_snapshots(std::ostream& out, const std::filesystem::path& directory) {
  const SnapshotFiles found = snapshots_in(directory);
  for (const SnapshotEntry& entry : found.entries) {
    struct tm local {};
    ::localtime_r(&entry.used, &local);
    out << std::put_time(&local, "%F %T") << "  model " << entry.root << "  " << std::setw(8) << entry.tokens
        << " tokens  " << in_words(entry.bytes) << (entry.system ? "  end of a system prompt" : "") << "\n";
  }
  out << found.entries.size() << " entries and " << found.pages << " shared pages, " << in_words(found.bytes)
      << "\n";
}

bool verify_snapshots(std::ostream& out, const std::filesystem::path& directory) {
  uint64_t good = 0, bad = 0;
  for (const File& file : files_in(directory)) try {
      check_record(directory, file.name);
      ++good;
    } catch (const BadRecord& fault) {
      if (!std::filesystem::exists(directory / file.name)) continue;  // thrown out meanwhile
      out << file.name << " " << fault.why << "\n";
      ++bad;
    }
  out << good << " files are good, " << bad << " are not\n";
  return bad == 0;
}

void remove_snapshots(std::ostream& out, const std::filesystem::path& directory) {
  const int lock = ::open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool ours = lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  const int error = errno;
  if (!ours) {
    if (lock >= 0) ::close(lock);
    throw SnapshotError(error == EWOULDBLOCK ? directory.string() + " is in use; stop the daemon first"
                                             : directory.string() + " cannot be written (" +
                                                   std::generic_category().message(error) + ")");
  }
  uint64_t removed = 0, bytes = 0;
  for (const File& file : files_in(directory)) {
    const bool gone = ::unlink((directory / file.name).c_str()) == 0;
    removed += gone;
    bytes += gone ? file.bytes : 0;
  }
  ::close(lock);
  out << removed << " files removed, " << in_words(bytes) << "\n";
}

}  // namespace lockstep::engine
