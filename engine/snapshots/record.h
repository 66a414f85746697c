// One file of the snapshot store: a page of a prefix, or an entry (what is left of the prefix after its last
// full page, and the recurrent state at its end).
//
// Layout, integers little-endian:
//     0  8  "LOCKSNAP"
//     8  4  version of this layout, 1; any other is refused
//    12  4  kind: 1 page, 2 entry
//    16 16  root key: model, canon, layout and sizes
//    32 16  key; the name of the file has it too
//    48 16  key of the page before; the root's for the first
//    64  4  tokens in this file: 64 for a page, 0 to 63 for an entry
//    68  4  tokens of the whole prefix
//    72  4  flags: 1 the prefix is a system prompt
//    76  4  zero
//    80  8  bytes after the tokens
//    88  8  zero
//    96 32  SHA-256 of all that follows the header
//   128 32  SHA-256 of bytes 0 to 127
//   160  …  tokens, int32 each; then the page, or the state and (with a tail) the page that the tail is in
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/files/host_buffer.h"
#include "engine/snapshots/keys.h"

namespace lockstep::engine {

struct Record {
  enum class Kind : uint32_t { page = 1, entry = 2 };
  Kind kind = Kind::page;
  Key root{}, key{}, before{};
  int length = 0;  // tokens of the whole prefix
  bool system = false;
  std::vector<int32_t> tokens;  // of this file
};

constexpr uint64_t record_header = 160;
inline uint64_t record_bytes(size_t tokens, uint64_t payload) {
  return record_header + tokens * sizeof(int32_t) + payload;
}

// The file's name, which tells all that keeping books takes:
//   KEY-BEFORE.page, KEY-BEFORE-LENGTH-SYSTEM-ROOT.entry (keys in hex, of the root 8 digits)
struct RecordName {
  Record::Kind kind;
  Key key, before;
  int length = 0;
  bool system = false;
  std::string root;  // 8 digits
};
RecordName name_of(const Record& record);
std::string file_name(const RecordName& name);
std::optional<RecordName> read_name(const std::string& name);  // none: no file of ours

// Something could not be written; `error` is an errno value.
struct WriteFailure {
  int error;
};
// Writes to a temporary file in `directory`, flushes it to the disk, and gives it its name. The name itself
// is on the disk after sync_directory(). Throws WriteFailure; nothing is left behind then.
void write_record(const std::filesystem::path& directory, const Record& record, const HostBuffer& payload);
void sync_directory(const std::filesystem::path& directory);  // throws WriteFailure
bool is_temporary(const std::string& name);

// What was wrong with a file, in words that follow its name.
struct BadRecord {
  std::string why;
  int error = 0;  // errno where the system refused; the file itself may be good
};
// Reads the file `name` and verifies everything: length, header, both checksums, that its key is made from
// its tokens and that it is what its name says. `payload` must be its size. Throws BadRecord.
Record read_record(const std::filesystem::path& directory, const std::string& name, uint64_t payload_bytes,
                   HostBuffer& payload);
// The same for a file of any model, whatever its size.
Record check_record(const std::filesystem::path& directory, const std::string& name);

}  // namespace lockstep::engine
