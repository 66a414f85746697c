#include "engine/lanes/token_hash.h"

#include <openssl/sha.h>

#include <array>
#include <vector>

namespace lockstep::engine {
namespace {

std::array<unsigned char, SHA256_DIGEST_LENGTH> hash(std::span<const int32_t> tokens) {
  std::vector<unsigned char> bytes;
  for (int32_t token : tokens)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint32_t>(token) >> shift & 255);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

}  // namespace

std::string token_sha(std::span<const int32_t> tokens) {
  std::string text;
  for (unsigned char byte : hash(tokens)) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

uint64_t seed_from_tokens(std::span<const int32_t> tokens) {
  const auto digest = hash(tokens);
  uint64_t seed = 0;
  for (int i = 7; i >= 0; --i) seed = seed << 8 | digest[i];
  return seed;
}

}  // namespace lockstep::engine
