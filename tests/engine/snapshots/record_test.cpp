#include "engine/snapshots/record.h"

#include <cstring>
#include <random>

#include "tests/catch.h"
#include "tests/engine/support/snapshots.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::engine;
using namespace lockstep::test;
using lockstep::tools::read_file;
using lockstep::tools::TemporaryDirectory;
using lockstep::tools::write_file;

namespace {

Record entry_of(const std::vector<int32_t>& tail) {
  Record record;
  record.kind = Record::Kind::entry;
  record.root = root_key(small_identity());
  record.before = record.root;
  record.tokens = tail;
  record.length = static_cast<int>(tail.size());
  record.key = entry_key(record.before, tail);
  return record;
}

HostBuffer counting(size_t bytes) {
  HostBuffer buffer(bytes);
  for (size_t i = 0; i < bytes; ++i) buffer.data()[i] = static_cast<std::byte>(i * 7);
  return buffer;
}

bool refused(const std::filesystem::path& directory, const std::string& name, uint64_t bytes) {
  HostBuffer payload;
  try {
    read_record(directory, name, bytes, payload);
  } catch (const BadRecord& bad) {
    CHECK(!bad.why.empty());
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE(
    "F59 a snapshot file is read back whole or refused: any flipped byte, any length, any other place") {
  const TemporaryDirectory directory(quick_place());
  const Record record = entry_of({1, -2, 300000, 4, 5});
  const HostBuffer payload = counting(500);
  write_record(directory.path(), record, payload);
  const std::string name = file_name(name_of(record));
  REQUIRE(snapshot_files(directory.path()) == std::vector{name});
  HostBuffer back;
  const Record same = read_record(directory.path(), name, 500, back);
  CHECK(same.tokens == record.tokens);
  CHECK(same.root == record.root);
  CHECK(same.length == 5);
  REQUIRE(back.size() == 500);
  CHECK(std::memcmp(back.data(), payload.data(), 500) == 0);
  CHECK(check_record(directory.path(), name).tokens == record.tokens);

  const std::string good = read_file(directory.path() / name);
  REQUIRE(good.size() == record_bytes(5, 500));
  CHECK(refused(directory.path(), name, 499));
  std::mt19937 random(7);
  for (size_t at = 0; at < good.size(); ++at) {
    INFO("byte " << at);
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << random() % 8);
    write_file(directory.path() / name, bad);
    REQUIRE(refused(directory.path(), name, 500));
  }
  for (size_t length = 0; length < good.size() + 8; length += length % 50 == 49 ? 13 : 1) {
    if (length == good.size()) continue;
    INFO("length " << length);
    write_file(directory.path() / name, (good + std::string(8, '\0')).substr(0, length));
    REQUIRE(refused(directory.path(), name, 500));
  }
  // The right bytes under another name.
  const std::string other = file_name(name_of(entry_of({1, -2, 300000, 4, 6})));
  write_file(directory.path() / other, good);
  CHECK(refused(directory.path(), other, 500));
  // No file, a directory, a pipe, a link.
  std::filesystem::remove(directory.path() / other);
  CHECK(refused(directory.path(), other, 500));
  std::filesystem::create_directory(directory.path() / other);
  CHECK(refused(directory.path(), other, 500));
  std::filesystem::remove(directory.path() / other);
  write_file(directory.path() / name, good);
  std::filesystem::create_symlink(name, directory.path() / other);
  CHECK(refused(directory.path(), other, 500));
  CHECK_FALSE(refused(directory.path(), name, 500));
}

TEST_CASE("names of snapshot files are read back, and others are none") {
  Record record = entry_of({1, 2, 3});
  record.system = true;
  const std::string entry = file_name(name_of(record));
  REQUIRE(read_name(entry));
  CHECK(file_name(*read_name(entry)) == entry);
  CHECK(read_name(entry)->system);
  CHECK(read_name(entry)->length == 3);
  record.kind = Record::Kind::page;
  const std::string page = file_name(name_of(record));
  REQUIRE(read_name(page));
  CHECK(file_name(*read_name(page)) == page);
  for (const std::string& name : {page, entry})
    for (size_t at = 0; at < name.size(); ++at) CHECK_FALSE(read_name(name.substr(0, at)));
  for (const char* name : {"", "lock", "new-1-2", "x.page", "-.entry"}) CHECK_FALSE(read_name(name));
  CHECK_FALSE(read_name(entry + "x"));
  CHECK_FALSE(read_name("g" + page.substr(1)));
}

TEST_CASE("keys depend on the whole identity, on every token and on where pages end") {
  const Identity base = small_identity();
  const Key root = root_key(base);
  for (int what = 0; what < 5; ++what) {
    Identity other = base;
    if (what == 0) other.model += "x";
    if (what == 1) other.layout += "x";
    if (what == 2) ++other.canon_version;
    if (what == 3) ++other.page_bytes;
    if (what == 4) ++other.state_bytes;
    CHECK(root_key(other) != root);
  }
  std::vector<int32_t> tokens = numbered(0, 200);
  const std::vector<Key> keys = page_keys(root, tokens);
  REQUIRE(keys.size() == 3);
  tokens[70] = 7;
  const std::vector<Key> others = page_keys(root, tokens);
  CHECK(others[0] == keys[0]);
  CHECK(others[1] != keys[1]);
  CHECK(others[2] != keys[2]);
  CHECK(entry_key(keys[0], {}) != keys[0]);
  CHECK(key_from_hex(hex(root)) == root);
}
