#include "engine/snapshots/store.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <random>
#include <sstream>

#include "tests/catch.h"
#include "tests/engine/support/snapshots.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::engine;
using namespace lockstep::test;
using lockstep::tools::TemporaryDirectory;

namespace {

constexpr uint64_t page_file = 160 + 4 * 64 + 700;
uint64_t entry_file(int tail) { return 160 + 4 * tail + 900 + (tail ? 700 : 0); }

// Writes beyond `bytes` of a file fail as long as this lives.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit small{bytes, limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int);
};

}  // namespace

TEST_CASE("what is saved is there after a restart; pages are stored once") {
  const TemporaryDirectory directory(quick_place());
  std::vector<int32_t> tokens = numbered(0, 300);
  const std::span<const int32_t> all(tokens);
  {
    HandStore store(directory.path());
    CHECK(store.save(all.first(140)));
    CHECK(bytes_of_files(directory.path()) == 2 * page_file + entry_file(12));
    CHECK_FALSE(store.save(all.first(140)));  // never twice
    CHECK_FALSE(store.save(all.first(15)));   // not worth its bytes
    CHECK_FALSE(store.save(all.first(155)));
    CHECK(store.store().counts().skipped == 0);
    CHECK(store.save(all.first(156)));  // only itself
    CHECK(store.save(all.first(256)));
    CHECK(bytes_of_files(directory.path()) ==
          4 * page_file + entry_file(12) + entry_file(28) + entry_file(0));
    CHECK(store.store().counts().written_bytes == bytes_of_files(directory.path()));
    CHECK(store.store().counts().bytes == bytes_of_files(directory.path()));
    CHECK(store.load(all) == 256);
  }
  HandStore store(directory.path());
  CHECK(store.store().counts().bytes == bytes_of_files(directory.path()));
  CHECK(store.load(all) == 256);
  CHECK(store.load(all, 2) == 256);  // the first pages are there already
  CHECK(store.load(all.first(256)) == 156);
  CHECK(store.load(all.first(141)) == 140);
  CHECK(store.load(all.first(140)) == 0);
  CHECK(store.load({}) == 0);
  tokens[20] = 9999;
  CHECK(store.load(all) == 0);
  while (store.store().counts().hits < 4) usleep(100);  // counted after the last buffer
  CHECK(store.store().counts().hits == 4);
  CHECK(store.store().counts().corrupt == 0);
  CHECK(store.told().empty());
}

TEST_CASE("F63 1,000 turns write what is new, once") {
  const TemporaryDirectory directory(quick_place());
  const std::vector<int32_t> tokens = numbered(0, 20000);
  HandStore store(directory.path(), 1 << 20);
  for (int turn = 1; turn <= 1000; ++turn) REQUIRE(store.save(std::span(tokens).first(turn * 20)));
  const SnapshotStore::Counts counts = store.store().counts();
  CHECK(counts.stored == 1000);
  CHECK(counts.written_bytes <= 20000 / 64 * page_file + 1000 * entry_file(63));
  CHECK(counts.evicted > 0);
  CHECK(counts.bytes <= 1 << 20);
  CHECK(bytes_of_files(directory.path()) == counts.bytes);
  CHECK(store.load(tokens) == 20000 - 20);
}

TEST_CASE("F66 the budget holds; what was used longest ago goes first, system prompts last") {
  const TemporaryDirectory directory(quick_place());
  const uint64_t budget = 40000;
  HandStore store(directory.path(), budget);
  const std::vector<int32_t> system = numbered(500000, 70), often = numbered(600000, 100);
  REQUIRE(store.save(system, true));
  REQUIRE(store.save(often));
  const auto after = [](std::vector<int32_t> tokens) {
    tokens.push_back(1);
    return tokens;
  };
  for (int i = 0; i < 300; ++i) {
    REQUIRE(store.save(numbered(i * 1000, 65 + i % 130)));
    REQUIRE(bytes_of_files(directory.path()) <= budget);
    REQUIRE(store.load(after(often)) == 100);
  }
  CHECK(store.load(after(system)) == 70);
  CHECK(store.load(after(numbered(0, 65))) == 0);
  CHECK(store.load(after(numbered(299000, 65 + 299 % 130))) == 65 + 299 % 130);
  // One that is larger than the budget pushes nothing out.
  const auto evicted = store.store().counts().evicted;
  CHECK_FALSE(store.save(numbered(900000, 64 * 60)));
  CHECK(store.store().counts().evicted == evicted);
  CHECK(store.store().counts().skipped == 1);
  CHECK(store.told().empty());
}

TEST_CASE("a smaller budget at the next start throws out until it holds") {
  const TemporaryDirectory directory(quick_place());
  {
    HandStore store(directory.path());
    for (int i = 0; i < 20; ++i) REQUIRE(store.save(numbered(i * 1000, 80)));
  }
  // File systems do not tell times that are close together apart.
  const std::string last =
      hex(entry_key(page_keys(root_key(small_identity()), numbered(19000, 80))[0], numbered(19064, 16)));
  for (const std::string& name : snapshot_files(directory.path()))
    if (name.starts_with(last))
      std::filesystem::last_write_time(directory.path() / name,
                                       std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  HandStore store(directory.path(), 10000);
  CHECK(bytes_of_files(directory.path()) <= 10000);
  CHECK(store.load(numbered(19000, 81)) == 80);
  int kept = 0;
  for (int i = 0; i < 20; ++i) kept += store.load(numbered(i * 1000, 81)) == 80;
  CHECK(kept == static_cast<int>(10000 / (page_file + entry_file(16))));
}

TEST_CASE("F62 an entry that could not be written is not there") {
  const TemporaryDirectory directory(quick_place());
  const std::vector<int32_t> tokens = numbered(0, 161);
  const std::span<const int32_t> kept = std::span(tokens).first(160);
  HandStore store(directory.path());
  for (rlim_t most : {100, 1000, 1300}) {  // the header, a page, the entry
    const SmallFiles small(most);
    CHECK_FALSE(store.save(kept));
    CHECK(store.load(tokens) == 0);
  }
  CHECK(snapshot_files(directory.path()).empty());
  CHECK(store.store().counts().skipped == 3);
  CHECK(store.store().counts().bytes == 0);
  REQUIRE(store.told().size() == 1);
  CHECK_THAT(store.told()[0],
             Catch::Contains("cannot be written (File too large); conversations are served"));
  CHECK(store.save(kept));
  CHECK(store.load(tokens) == 160);
}

TEST_CASE("F63 a full disk: the oldest makes room once, else one warning") {
  const TemporaryDirectory directory;
  const std::string size = "size=64k";
  if (::mount("none", directory.path().c_str(), "tmpfs", 0, size.c_str()) != 0) {
    WARN("skipped: no file system can be mounted here");
    return;
  }
  struct Unmount {
    std::filesystem::path path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } const unmount{directory.path()};
  HandStore store(directory.path(), 1 << 30);
  for (int i = 0; i < 100; ++i) {
    INFO("save " << i);
    REQUIRE(store.save(numbered(i * 1000, 100)));
    REQUIRE(store.load(numbered(i * 1000, 101)) == 100);
  }
  CHECK(store.store().counts().evicted > 80);
  CHECK(store.told().empty());
  // Others take the rest of the disk.
  {
    std::ofstream hog(directory.path() / "hog");
    for (int i = 0; i < 70 && hog; ++i) hog << std::string(1024, 'x') << std::flush;
  }
  for (int i = 0; i < 20; ++i) store.save(numbered(500000 + i * 1000, 64 * 20));
  CHECK(store.told().size() <= 1);
  CHECK(store.store().counts().skipped > 0);
  std::filesystem::remove(directory.path() / "hog");
  CHECK(store.save(numbered(0, 100)));
}

TEST_CASE("a directory is one store's: the second is refused, also by another process") {
  const TemporaryDirectory directory(quick_place());
  const auto error = [&] {
    try {
      HandStore second(directory.path());
      return 0;
    } catch (const WriteFailure& failure) {
      return failure.error;
    }
  };
  {
    const HandStore first(directory.path());
    CHECK(error() == EWOULDBLOCK);
    const pid_t child = fork();
    if (child == 0) _exit(error() == EWOULDBLOCK ? 0 : 1);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(error() == 0);
}

TEST_CASE("a start removes what a crash left, and what is of no use, and leaves what is not the store's") {
  const TemporaryDirectory directory(quick_place());
  const std::vector<int32_t> tokens = numbered(0, 200);
  {
    HandStore store(directory.path());
    REQUIRE(store.save(std::span(tokens).first(70)));
    REQUIRE(store.save(std::span(tokens).first(150)));
  }
  lockstep::tools::write_file(directory.path() / "new-12-1", "half a page");
  lockstep::tools::write_file(directory.path() / "notes.txt", "mine");
  // The second page is missing: the entry at 150 is of no use, the one at 70 is.
  const auto second = page_keys(root_key(small_identity()), tokens)[1];
  for (const std::string& name : snapshot_files(directory.path()))
    if (name.starts_with(hex(second))) std::filesystem::remove(directory.path() / name);
  HandStore store(directory.path());
  CHECK(snapshot_files(directory.path()).size() == 3);  // a page, an entry, notes.txt
  CHECK(std::filesystem::exists(directory.path() / "notes.txt"));
  CHECK(store.load(tokens) == 70);
}

TEST_CASE("a directory of snapshots is listed, verified and emptied") {
  const TemporaryDirectory directory(quick_place());
  {
    HandStore store(directory.path());
    REQUIRE(store.save(numbered(0, 100), true));
    std::ostringstream out;
    CHECK_THROWS_WITH(remove_snapshots(out, directory.path()),
                      Catch::Contains("is in use; stop the daemon first"));
    list_snapshots(out, directory.path());
    CHECK_THAT(out.str(), Catch::Contains("100 tokens  1.9 KiB  end of a system prompt\n"
                                          "1 entries and 1 shared pages, 2.9 KiB\n"));
  }
  std::ostringstream good, bad, removed;
  CHECK(verify_snapshots(good, directory.path()));
  CHECK(good.str() == "2 files are good, 0 are not\n");
  std::filesystem::resize_file(directory.path() / snapshot_files(directory.path())[0], 500);
  CHECK_FALSE(verify_snapshots(bad, directory.path()));
  CHECK_THAT(bad.str(), Catch::Contains("1 files are good, 1 are not\n"));
  remove_snapshots(removed, directory.path());
  CHECK(snapshot_files(directory.path()).empty());
  CHECK_THROWS_AS(list_snapshots(removed, directory.path() / "none"), SnapshotError);
}

// Saves until it is killed: the process that the next test starts.
TEST_CASE("a writer for F59", "[.writer]") {
  if (!std::getenv("LOCKSTEP_TEST_DIRECTORY")) return;
  std::optional<HandStore> store;
  while (!store) try {
      store.emplace(std::getenv("LOCKSTEP_TEST_DIRECTORY"), 60000);
    } catch (const WriteFailure&) {  // the other looks whether we have it
      usleep(100);
    }
  const unsigned first = static_cast<unsigned>(std::atoi(std::getenv("LOCKSTEP_TEST_FIRST")));
  for (unsigned i = first;; ++i)
    store->save(numbered(static_cast<int>(i % 50) * 1000, 64 + static_cast<int>(i * 37 % 200)));
}

namespace {

// How many of the writer's prefixes are known. HandStore throws when something else comes back.
int load_all(HandStore& store) {
  int known = 0;
  for (int family = 0; family < 50; ++family) known += store.load(numbered(family * 1000, 300)) > 0;
  return known;
}

// One damage after the other to a file of a copy: whatever still comes back is right.
void damage_each(const std::filesystem::path& directory, std::mt19937& random) {
  for (const std::string& name : snapshot_files(directory))
    for (const char* damage : {"cut", "zeroed", "flipped"}) {
      INFO(name << " " << damage);
      const TemporaryDirectory copy(quick_place());
      std::filesystem::copy(directory, copy.path(), std::filesystem::copy_options::recursive);
      std::string bytes = lockstep::tools::read_file(copy.path() / name);
      const std::string before = bytes;
      const size_t at = random() % bytes.size();
      if (damage == std::string("cut")) bytes.resize(at);
      if (damage == std::string("zeroed"))
        std::fill_n(bytes.begin() + at / 4096 * 4096, std::min<size_t>(4096, bytes.size() - at / 4096 * 4096),
                    '\0');
      if (damage == std::string("flipped")) bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      REQUIRE(bytes != before);
      lockstep::tools::write_file(copy.path() / name, bytes);
      uint64_t corrupt = 0;
      {
        HandStore store(copy.path(), 60000);
        load_all(store);
        corrupt = store.store().counts().corrupt;
      }
      // Found damaged and removed, or never asked for.
      CHECK(corrupt <= 1);
      if (corrupt == 1) CHECK(!std::filesystem::exists(copy.path() / name));
    }
}

void kill_while_saving(int times) {
  const TemporaryDirectory directory;
  std::mt19937 random(3);
  setenv("LOCKSTEP_TEST_DIRECTORY", directory.path().c_str(), 1);
  int kept = 0;
  for (int kill_number = 0; kill_number < times; ++kill_number) {
    setenv("LOCKSTEP_TEST_FIRST", std::to_string(kill_number * 7).c_str(), 1);
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "test_engine", "a writer for F59", "-o", "/dev/null", nullptr);
      _exit(1);
    }
    // Once it has begun: until it takes the lock nothing is written.
    const auto busy = [&] {
      try {
        HandStore store(directory.path(), 60000);
        return false;
      } catch (const WriteFailure&) {
        return true;
      }
    };
    while (!busy()) usleep(500);
    usleep(random() % 10000);
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    INFO("seed 3, kill " << kill_number);
    HandStore store(directory.path(), 60000);
    for (const std::string& name : snapshot_files(directory.path())) CHECK(read_name(name));
    kept += load_all(store);
    REQUIRE(store.store().counts().corrupt == 0);
    REQUIRE(bytes_of_files(directory.path()) <= 60000);
  }
  CHECK(kept > 0);
  damage_each(directory.path(), random);
}

}  // namespace

TEST_CASE("F59 a store that was killed at any moment is exactly right or misses") { kill_while_saving(20); }

TEST_CASE("F59 the same 400 times", "[.long]") { kill_while_saving(400); }
