// Names of what is on disk, made from what it holds: the model, how it was computed, and the tokens up to it.
//
// A prefix is a chain of full pages of 64 tokens and a tail of 0 to 63. A page's key is the hash of the key
// before it and of its tokens, so the key of a page stands for everything up to its end; an entry's key is
// that of its last full page and its tail. The first link is the root, the hash of the identity.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

using Key = std::array<unsigned char, 16>;  // the first half of a SHA-256

struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t value;
    std::memcpy(&value, key.data(), sizeof value);
    return value;
  }
};

// What pages and states mean. Anything that differs makes another root, and so other keys.
struct Identity {
  std::string model;   // fingerprint
  std::string layout;  // how pages and states are laid out in memory
  int canon_version;
  uint64_t page_bytes, state_bytes;
};

Key root_key(const Identity& identity);
Key page_key(const Key& before, std::span<const int32_t> tokens);  // of one page
Key entry_key(const Key& last_page, std::span<const int32_t> tail);
// Of every full page of `tokens`, in order.
std::vector<Key> page_keys(const Key& root, std::span<const int32_t> tokens);

std::string hex(std::span<const unsigned char> bytes);
std::optional<Key> key_from_hex(std::string_view text);  // exactly 32 digits

}  // namespace lockstep::engine
