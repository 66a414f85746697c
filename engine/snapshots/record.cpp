#include "engine/snapshots/record.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

constexpr std::string_view magic = "LOCKSNAP", temporary = "new-";
constexpr uint32_t version = 1, flag_system = 1;
using Header = std::array<unsigned char, record_header>;

template <class Bytes>
void put(Header& header, size_t at, const Bytes& bytes) {
  std::copy(std::begin(bytes), std::end(bytes), header.begin() + at);
}
void put_number(Header& header, size_t at, size_t bytes, uint64_t value) {
  for (size_t i = 0; i < bytes; ++i) header[at + i] = static_cast<unsigned char>(value >> 8 * i);
}
uint64_t number(const Header& header, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | header[at + i];
  return value;
}
Key key_at(const Header& header, size_t at) {
  Key key;
  std::copy_n(header.begin() + at, key.size(), key.begin());
  return key;
}

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest(const void* data, size_t bytes) {
  Digest result;
  SHA256(static_cast<const unsigned char*>(data), bytes, result.data());
  return result;
}

Digest digest(std::span<const unsigned char> tokens, const HostBuffer& payload) {
  // The payload's own digest is hashed after the tokens: one buffer less than joining the two.
  const Digest inner = digest(payload.data(), payload.size());
  std::vector<unsigned char> bytes(tokens.begin(), tokens.end());
  bytes.insert(bytes.end(), inner.begin(), inner.end());
  return digest(bytes.data(), bytes.size());
}

std::vector<unsigned char> bytes_of(std::span<const int32_t> tokens) {
  std::vector<unsigned char> bytes;
  for (int32_t token : tokens)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint32_t>(token) >> shift & 255);
  return bytes;
}

Header header_of(const Record& record, std::span<const unsigned char> tokens, const HostBuffer& payload) {
  Header header{};
  put(header, 0, magic);
  put_number(header, 8, 4, version);
  put_number(header, 12, 4, static_cast<uint32_t>(record.kind));
  put(header, 16, record.root);
  put(header, 32, record.key);
  put(header, 48, record.before);
  put_number(header, 64, 4, record.tokens.size());
  put_number(header, 68, 4, static_cast<uint32_t>(record.length));
  put_number(header, 72, 4, record.system ? flag_system : 0);
  put_number(header, 80, 8, payload.size());
  put(header, 96, digest(tokens, payload));
  put(header, 128, digest(header.data(), 128));
  return header;
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

void write_all(int descriptor, const void* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t wrote =
        ::write(descriptor, static_cast<const char*>(data) + done, std::min(bytes - done, size_t{1} << 30));
    if (wrote < 0 && errno != EINTR) throw WriteFailure{errno};
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
}

void read_all(int descriptor, void* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got =
        ::read(descriptor, static_cast<char*>(data) + done, std::min(bytes - done, size_t{1} << 30));
    if (got == 0) throw BadRecord{"is shorter than it was"};
    if (got < 0 && errno != EINTR)
      throw BadRecord{"cannot be read (" + std::generic_category().message(errno) + ")", errno};
    if (got > 0) done += static_cast<size_t>(got);
  }
}

// Everything in the header that does not depend on what is wanted.
Record parse(const Header& header, uint64_t payload) {
  if (!std::equal(magic.begin(), magic.end(), header.begin())) throw BadRecord{"is no snapshot"};
  if (number(header, 8, 4) != version) throw BadRecord{"is of another version"};
  if (digest(header.data(), 128) != [&] {
        Digest stored;
        std::copy_n(header.begin() + 128, stored.size(), stored.begin());
        return stored;
      }())
    throw BadRecord{"has a damaged header"};
  Record record;
  record.kind = static_cast<Record::Kind>(number(header, 12, 4));
  record.root = key_at(header, 16);
  record.key = key_at(header, 32);
  record.before = key_at(header, 48);
  record.length = static_cast<int>(number(header, 68, 4));
  record.system = number(header, 72, 4) & flag_system;
  record.tokens.resize(number(header, 64, 4) % (kernels::page_positions + 1));
  if (number(header, 80, 8) != payload) throw BadRecord{"has another size than its header says"};
  return record;
}

}  // namespace

RecordName name_of(const Record& record) {
  if (record.kind == Record::Kind::page) return {record.kind, record.key, record.before, 0, false, ""};
  return {record.kind,   record.key,    record.before,
          record.length, record.system, hex(std::span(record.root).first(4))};
}

std::string file_name(const RecordName& name) {
  const std::string keys = hex(name.key) + "-" + hex(name.before);
  if (name.kind == Record::Kind::page) return keys + ".page";
  return keys + "-" + std::to_string(name.length) + "-" + (name.system ? "1" : "0") + "-" + name.root +
         ".entry";
}

std::optional<RecordName> read_name(const std::string& name) {
  constexpr size_t digits = 2 * sizeof(Key), keys = 2 * digits + 1;
  if (name.size() < keys || name[digits] != '-') return std::nullopt;
  const auto key = key_from_hex(std::string_view(name).substr(0, digits)),
             before = key_from_hex(std::string_view(name).substr(digits + 1, digits));
  if (!key || !before) return std::nullopt;
  const std::string rest = name.substr(keys);
  if (rest == ".page") return RecordName{Record::Kind::page, *key, *before, 0, false, ""};
  int length = 0;
  const char* const last = rest.data() + rest.size();
  if (rest.empty() || rest[0] != '-') return std::nullopt;
  const auto [end, error] = std::from_chars(rest.data() + 1, last, length);
  const std::string_view tail(end, last);  // -S-RRRRRRRR.entry
  if (error != std::errc() || length < 1 || tail.size() != 17 || tail[0] != '-' || tail[2] != '-' ||
      (tail[1] != '0' && tail[1] != '1') || !tail.ends_with(".entry"))
    return std::nullopt;
  return RecordName{Record::Kind::entry,           *key, *before, length, tail[1] == '1',
                    std::string(tail.substr(3, 8))};
}

bool is_temporary(const std::string& name) { return name.starts_with(temporary); }

void write_record(const std::filesystem::path& directory, const Record& record, const HostBuffer& payload) {
  static std::atomic<uint64_t> count = 0;
  const std::filesystem::path draft =
      directory / (std::string(temporary) + std::to_string(::getpid()) + "-" + std::to_string(++count));
  const std::vector<unsigned char> tokens = bytes_of(record.tokens);
  const Header header = header_of(record, tokens, payload);
  const Descriptor file(draft, O_WRONLY | O_CREAT | O_EXCL);
  if (file.number() < 0) throw WriteFailure{errno};
  try {
    write_all(file.number(), header.data(), header.size());
    write_all(file.number(), tokens.data(), tokens.size());
    write_all(file.number(), payload.data(), payload.size());
    if (::fsync(file.number()) != 0) throw WriteFailure{errno};
    if (::rename(draft.c_str(), (directory / file_name(name_of(record))).c_str()) != 0)
      throw WriteFailure{errno};
  } catch (const WriteFailure&) {
    ::unlink(draft.c_str());
    throw;
  }
}

void sync_directory(const std::filesystem::path& directory) {
  const Descriptor folder(directory, O_RDONLY | O_DIRECTORY);
  if (folder.number() < 0 || ::fsync(folder.number()) != 0) throw WriteFailure{errno};
}

Record read_record(const std::filesystem::path& directory, const std::string& name, uint64_t payload_bytes,
                   HostBuffer& payload) {
  const std::optional<RecordName> named = read_name(name);
  if (!named) throw BadRecord{"is no snapshot"};
  const Descriptor file(directory / name, O_RDONLY);
  if (file.number() < 0)
    throw BadRecord{"cannot be opened (" + std::generic_category().message(errno) + ")", errno};
  const size_t tokens =
      named->kind == Record::Kind::page ? kernels::page_positions : named->length % kernels::page_positions;
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) throw BadRecord{"is not a file"};
  if (static_cast<uint64_t>(status.st_size) != record_bytes(tokens, payload_bytes))
    throw BadRecord{"has " + std::to_string(status.st_size) + " bytes instead of " +
                    std::to_string(record_bytes(tokens, payload_bytes))};
  Header header;
  read_all(file.number(), header.data(), header.size());
  Record record = parse(header, payload_bytes);
  if (record.tokens.size() != tokens || file_name(name_of(record)) != name)
    throw BadRecord{"is not what its name says"};
  std::vector<unsigned char> bytes(tokens * sizeof(int32_t));
  read_all(file.number(), bytes.data(), bytes.size());
  payload = HostBuffer(payload_bytes);
  read_all(file.number(), payload.data(), payload.size());
  const Digest found = digest(bytes, payload);
  if (!std::equal(found.begin(), found.end(), header.begin() + 96)) throw BadRecord{"is damaged"};
  for (size_t i = 0; i < tokens; ++i) {
    uint32_t token = 0;
    for (size_t byte = 4; byte-- > 0;) token = token << 8 | bytes[4 * i + byte];
    record.tokens[i] = static_cast<int32_t>(token);
  }
  const Key key = record.kind == Record::Kind::page ? page_key(record.before, record.tokens)
                                                    : entry_key(record.before, record.tokens);
  if (key != record.key) throw BadRecord{"has other tokens than its name says"};
  return record;
}

Record check_record(const std::filesystem::path& directory, const std::string& name) {
  const std::optional<RecordName> named = read_name(name);
  if (!named) throw BadRecord{"is no snapshot"};
  const size_t tokens =
      named->kind == Record::Kind::page ? kernels::page_positions : named->length % kernels::page_positions;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(directory / name, error);
  if (error) throw BadRecord{"cannot be read (" + error.message() + ")"};
  if (size < record_bytes(tokens, 0)) throw BadRecord{"is cut short"};
  HostBuffer payload;
  return read_record(directory, name, size - record_bytes(tokens, 0), payload);
}

}  // namespace lockstep::engine
