#include "engine/snapshots/keys.h"

#include <openssl/sha.h>

#include <algorithm>

#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

Key hash(std::string_view kind, const Key& before, std::span<const int32_t> tokens) {
  std::vector<unsigned char> bytes(kind.begin(), kind.end());
  bytes.insert(bytes.end(), before.begin(), before.end());
  for (int32_t token : tokens)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint32_t>(token) >> shift & 255);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  Key key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

}  // namespace

Key root_key(const Identity& identity) {
  const std::string text = "model " + identity.model + "\ncanon " + std::to_string(identity.canon_version) +
                           "\nlayout " + identity.layout + "\npage " + std::to_string(identity.page_bytes) +
                           "\nstate " + std::to_string(identity.state_bytes) + "\n";
  return hash("root\n" + text, {}, {});
}

Key page_key(const Key& before, std::span<const int32_t> tokens) { return hash("page\n", before, tokens); }

Key entry_key(const Key& last_page, std::span<const int32_t> tail) {
  return hash("entry\n", last_page, tail);
}

std::vector<Key> page_keys(const Key& root, std::span<const int32_t> tokens) {
  constexpr size_t page = kernels::page_positions;
  std::vector<Key> keys;
  for (size_t at = 0; at + page <= tokens.size(); at += page)
    keys.push_back(page_key(keys.empty() ? root : keys.back(), tokens.subspan(at, page)));
  return keys;
}

std::string hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return text;
}

std::optional<Key> key_from_hex(std::string_view text) {
  Key key;
  if (text.size() != 2 * key.size()) return std::nullopt;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < key.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return key;
}

}  // namespace lockstep::engine
