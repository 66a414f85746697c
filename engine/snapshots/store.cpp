#include "engine/snapshots/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "engine/memory/budget.h"
#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

constexpr int page_tokens = kernels::page_positions;
constexpr int most_pages_sent = 16, most_ready = 4;
constexpr int least_growth = 16;            // tokens that an entry must have beyond another
constexpr uint64_t growth_bytes = 1 << 20;  // that an entry may cost for each of them
constexpr std::chrono::seconds last_writes{10};

// As many as fit into 64 MiB, but two of any size and at most 16.
int saves_for(const Identity& identity) {
  return static_cast<int>(
      std::clamp<uint64_t>((64 << 20) / (identity.state_bytes + identity.page_bytes + 1), 2, 16));
}

}  // namespace

SnapshotStore::SnapshotStore(std::filesystem::path directory, uint64_t budget, const Identity& identity,
                             Tell tell, std::function<void()> wake)
    : directory_(std::move(directory)),
      budget_(budget),
      identity_(identity),
      root_(root_key(identity)),
      tell_(std::move(tell)),
      wake_(std::move(wake)),
      most_saves_(saves_for(identity)) {
  take_directory();
  scan();
  writer_ = std::thread([this] { write(); });
  reader_ = std::thread([this] { read(); });
}

SnapshotStore::~SnapshotStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    deadline_ = std::chrono::steady_clock::now() + last_writes;
  }
  written_.notify_all();
  read_.notify_all();
  writer_.join();
  reader_.join();
  ::close(lock_);
}

uint64_t SnapshotStore::buffer_bytes(const Identity& identity) {
  const uint64_t entry = identity.state_bytes + identity.page_bytes;
  return (saves_for(identity) + 1) * entry + (most_pages_sent + most_ready) * identity.page_bytes;
}

uint64_t SnapshotStore::payload_bytes(int length) const {
  return identity_.state_bytes + (length % page_tokens ? identity_.page_bytes : 0);
}

SnapshotStore::Counts SnapshotStore::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.bytes = shelf_.bytes();
  return counts;
}

std::string SnapshotStore::summary() const {
  const std::lock_guard lock(mutex_);
  const std::string own = hex(std::span(root_).first(4));
  const auto ours =
      std::ranges::count_if(shelf_.entries(), [&](const auto& e) { return e.name.root == own; });
  const size_t others = shelf_.entries().size() - ours;
  return "snapshots: " + std::to_string(ours) + " of this model" +
         (others ? ", " + std::to_string(others) + " of others" : "") + ", " + in_words(shelf_.bytes()) +
         " of " + in_words(budget_) + " in " + directory_.string();
}

void SnapshotStore::take_directory() {
  std::error_code error;
  if (std::filesystem::create_directories(directory_, error))
    std::filesystem::permissions(directory_, std::filesystem::perms::owner_all, error);
  if (error) throw WriteFailure{error.value()};
  lock_ = ::open((directory_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_ < 0) throw WriteFailure{errno};
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    ::close(lock_);
    throw WriteFailure{why};
  }
}

void SnapshotStore::scan() {
  std::vector<Shelf::File> files;
  std::vector<std::string> gone;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    if (is_temporary(name)) gone.push_back(name);
    const std::optional<RecordName> ours = read_name(name);
    struct stat status {};
    if (!ours || ::lstat(at->path().c_str(), &status) != 0) continue;
    files.push_back({*ours, static_cast<uint64_t>(status.st_size),
                     status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec});
  }
  std::ranges::move(shelf_.fill(files), std::back_inserter(gone));
  while (shelf_.bytes() > budget_ && shelf_.evict(gone)) ++counts_.evicted;
  remove(gone);
}

void SnapshotStore::remove(const std::vector<std::string>& names) const {
  for (const std::string& name : names) ::unlink((directory_ / name).c_str());
}

void SnapshotStore::tell_once(int error, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (!told_.insert(error).second) return;
  }
  tell_(text);
}

std::optional<SnapshotPrefix> SnapshotStore::find(std::span<const int32_t> tokens, int known) {
  if (tokens.empty()) return std::nullopt;
  tokens = tokens.first(tokens.size() - 1);
  std::vector<Key> pages = page_keys(root_, tokens);
  const std::lock_guard lock(mutex_);
  for (;; pages.pop_back()) {
    const Key& last = pages.empty() ? root_ : pages.back();
    const int begin = static_cast<int>(pages.size()) * page_tokens;
    const Shelf::Entry* best = nullptr;
    for (const Shelf::Entry* entry : shelf_.entries_at(last)) {
      const int length = entry->name.length;
      if (length <= known || length < begin || length - begin >= page_tokens ||
          length > static_cast<int>(tokens.size()) || (best && length <= best->name.length))
        continue;
      if (entry_key(last, tokens.subspan(begin, length - begin)) == entry->name.key) best = entry;
    }
    if (best) return SnapshotPrefix{best->name, std::move(pages)};
    if (pages.empty()) return std::nullopt;
  }
}

std::shared_ptr<SnapshotSave> SnapshotStore::save(std::span<const int32_t> tokens, bool system) {
  const int length = static_cast<int>(tokens.size()), full = length / page_tokens;
  const auto save = std::make_shared<SnapshotSave>();
  save->pages = page_keys(root_, tokens);
  const auto key_at = [&](int end) {
    const int whole = end / page_tokens;
    return entry_key(whole ? save->pages[whole - 1] : root_,
                     tokens.subspan(whole * page_tokens, end % page_tokens));
  };
  const Key before = full ? save->pages.back() : root_;
  save->entry = {Record::Kind::entry,
                 root_,
                 key_at(length),
                 before,
                 length,
                 system,
                 {tokens.begin() + full * page_tokens, tokens.end()}};
  const uint64_t own = payload_bytes(length);
  const uint64_t whole =
      record_bytes(save->entry.tokens.size(), own) + full * record_bytes(page_tokens, identity_.page_bytes);
  const int growth = system ? 1 : std::max(least_growth, static_cast<int>(own / growth_bytes));

  if (length < least_growth) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto there = [&](const Key& key) { return shelf_.entry(key) || saving_.contains(key); };
  for (int end = length; end > std::max(0, length - growth); --end)
    if (there(key_at(end))) return nullptr;
  if (stopping_ || whole > budget_ || static_cast<int>(saving_.size()) >= most_saves_) {
    ++counts_.skipped;
    return nullptr;
  }
  save->next = 0;
  save->held = root_;
  while (save->next < full && shelf_.has_page(save->pages[save->next]))
    save->held = save->pages[save->next++];
  shelf_.hold(save->held);
  save->tokens.assign(tokens.begin(), tokens.end());
  saving_.insert(save->entry.key);
  return save;
}

bool SnapshotStore::room() const {
  const std::lock_guard lock(mutex_);
  return pages_sent_ < most_pages_sent;
}

void SnapshotStore::push(Job job) {
  {
    const std::lock_guard lock(mutex_);
    pages_sent_ += job.kind == Job::Kind::page;
    jobs_.push_back(std::move(job));
  }
  written_.notify_one();
}

void SnapshotStore::send_page(const std::shared_ptr<SnapshotSave>& save, HostBuffer page) {
  push({Job::Kind::page, save, save->next++, std::move(page), {}});
}

void SnapshotStore::send_entry(const std::shared_ptr<SnapshotSave>& save, HostBuffer state) {
  push({Job::Kind::entry, save, 0, std::move(state), {}});
}

void SnapshotStore::abandon(const std::shared_ptr<SnapshotSave>& save) {
  push({Job::Kind::abandon, save, 0, {}, {}});
}

std::shared_ptr<SnapshotLoad> SnapshotStore::load(SnapshotPrefix prefix, int first_page) {
  const auto load = std::make_shared<SnapshotLoad>();
  load->prefix = std::move(prefix);
  load->first_page = first_page;
  {
    const std::lock_guard lock(mutex_);
    loads_.push_back(load);
  }
  read_.notify_all();
  return load;
}

std::optional<HostBuffer> SnapshotStore::take(SnapshotLoad& load) {
  std::optional<HostBuffer> buffer;
  {
    const std::lock_guard lock(mutex_);
    if (load.ready.empty()) return std::nullopt;
    buffer = std::move(load.ready.front());
    load.ready.pop_front();
  }
  read_.notify_all();
  return buffer;
}

bool SnapshotStore::failed(const SnapshotLoad& load) const {
  const std::lock_guard lock(mutex_);
  return load.failed;
}

void SnapshotStore::cancel(SnapshotLoad& load) {
  {
    const std::lock_guard lock(mutex_);
    load.cancelled = true;
  }
  read_.notify_all();
}

}  // namespace lockstep::engine
