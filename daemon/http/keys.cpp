#include "daemon/http/keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "daemon/exit_status.h"
#include "daemon/limits.h"

namespace lockstep::daemon::http {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw StartFailure(ExitStatus::configuration, text); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool label_character(unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; }

}  // namespace

Keys::Key Keys::parse_line(std::string_view line, const std::string& place) {
  const std::size_t end = line.find_first_of(" \t");
  Key key{std::string(line.substr(0, end)), {}};
  if (key.label.empty() || key.label.size() > limits::key_label_bytes ||
      !std::all_of(key.label.begin(), key.label.end(), label_character))
    refuse(place + ": a label must be 1 to " + std::to_string(limits::key_label_bytes) +
           " letters, digits, '.', '_' or '-'");
  std::string_view hash = end == std::string_view::npos ? "" : line.substr(end);
  hash.remove_prefix(std::min(hash.find_first_not_of(" \t"), hash.size()));
  bool good = hash.size() == 2 * key.digest.size();
  for (std::size_t i = 0; good && i < key.digest.size(); ++i) {
    const int high = hex_digit(hash[2 * i]), low = hex_digit(hash[2 * i + 1]);
    good = high >= 0 && low >= 0;
    key.digest[i] = static_cast<unsigned char>(high * 16 + low);
  }
  if (!good)
    refuse(place + ": behind the label must stand the key's SHA-256, 64 hexadecimal digits; make it with: " +
           "printf %s \"$key\" | sha256sum");
  return key;
}

Keys Keys::read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file.string() + " with the API keys cannot be read (" + std::strerror(errno) + ")");
  Keys keys;
  std::size_t bytes = 0, number = 0;
  for (std::string line; std::getline(in, line);) {
    bytes += line.size() + 1;
    if (bytes > limits::configuration_bytes)
      refuse(file.string() + " is longer than " + std::to_string(limits::configuration_bytes) + " bytes");
    ++number;
    const std::size_t last = line.find_last_not_of(" \t\r");
    line.resize(last == std::string::npos ? 0 : last + 1);
    if (line.empty() || line[0] == '#') continue;
    const std::string place = file.string() + ":" + std::to_string(number);
    keys.keys_.push_back(parse_line(line, place));
  }
  if (in.bad()) refuse(file.string() + " with the API keys cannot be read (" + std::strerror(errno) + ")");
  return keys;
}

std::optional<std::string> Keys::label_of(std::string_view key) const {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  const Key* found = nullptr;
  for (const Key& known : keys_)
    if (CRYPTO_memcmp(known.digest.data(), digest.data(), digest.size()) == 0) found = &known;
  return found ? std::optional(found->label) : std::nullopt;
}

}  // namespace lockstep::daemon::http
